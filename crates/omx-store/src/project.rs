//! Finds the project, from values that the binary passes in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use omx_kernel::Dialect;
use omx_process::git_dir::{find_worktree_top, read_git_pointer};
use omx_process::read_plain_file;
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::owner::is_persons;

/// The maximum size of a file of git that the search reads.
const MAX_GIT_FILE_BYTES: u64 = 64 * 1024;

/// What the search for a project may use. Nothing here reads the environment.
#[derive(Clone, Copy, Debug)]
pub struct ProjectSearch<'a> {
    /// The working directory.
    pub working_directory: &'a Path,
    /// The person's home directory, without links in its path. The search never takes it
    /// for a project.
    pub home: Option<&'a Path>,
    /// The root that the caller named.
    pub root: Option<&'a Path>,
    /// A folder outside the project for the state of all projects.
    pub state_dir: Option<&'a Path>,
    /// The names to look for.
    pub dialect: Dialect,
}

/// A project and omx's folder for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The project's root.
    pub root: PathBuf,
    /// omx's folder, usually inside the root.
    pub tree: PathBuf,
}

/// Finds the project.
pub fn find_project(search: ProjectSearch<'_>) -> Result<Project, StoreError> {
    let ProjectSearch { working_directory, root, dialect, .. } = search;
    let root = match root {
        Some(named) => {
            let path = working_directory.join(named);
            let real = fs::canonicalize(&path).ok().filter(|real| real.is_dir());
            real.ok_or(StoreError::NoProject { path })?
        }
        None => find_root(search),
    };
    let tree = external_tree(&root, search).unwrap_or_else(|| root.join(dialect.dir_name));
    if search.root.is_none()
        && let Ok(data) = fs::metadata(&tree)
        && data.is_dir()
        && !is_persons(&data)
    {
        return Err(StoreError::Unsafe {
            path: tree,
            what: "a folder that another user owns or can write",
        });
    }
    Ok(Project { root, tree })
}

/// omx's folder for this project, if such folders are kept outside the projects.
fn external_tree(root: &Path, search: ProjectSearch<'_>) -> Option<PathBuf> {
    let folder = search.working_directory.join(search.state_dir?);
    let name = root.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(folder.join(format!("{name}-{hex}")))
}

fn find_root(search: ProjectSearch<'_>) -> PathBuf {
    let ProjectSearch { working_directory, home, dialect, .. } = search;
    let is_searched = |folder: &Path| home.is_none_or(|home| !home.starts_with(folder));
    let has_tree = |folder: &&Path| {
        external_tree(folder, search).is_some_and(|tree| tree.is_dir())
            || (is_persons_folder(&folder.join(dialect.dir_name)) && !is_world_writable(folder))
    };
    let ancestors = || working_directory.ancestors().take_while(|folder| is_searched(folder));
    let top = find_worktree_top(working_directory);
    match top.filter(|top| is_searched(top)) {
        Some(top) => {
            let inside = ancestors().take_while(|folder| folder.starts_with(top));
            match inside.into_iter().find(has_tree) {
                Some(found) => found.to_owned(),
                None => main_worktree(top, dialect)
                    .filter(|main| is_searched(main))
                    .unwrap_or_else(|| top.to_owned()),
            }
        }
        None => ancestors().find(has_tree).unwrap_or(working_directory).to_owned(),
    }
}

/// Whether this is a folder, and the person's.
fn is_persons_folder(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.is_dir() && is_persons(&data))
}

/// The folders of omx that a search passes over because they are not the person's.
pub fn find_skipped(search: ProjectSearch<'_>) -> Vec<PathBuf> {
    if search.root.is_some() {
        return Vec::new();
    }
    let trees = search.working_directory.ancestors().map(|it| it.join(search.dialect.dir_name));
    trees.filter(|tree| tree.is_dir() && !is_persons_folder(tree)).collect()
}

/// Anyone can plant a folder of omx in a place like `/tmp`, so the search ignores it.
fn is_world_writable(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o002 != 0)
}

/// The project of a run's worktree, by its place. While an agent works there, the file
/// `.git` names the agent's own git directory.
fn project_of_run(top: &Path, dialect: Dialect) -> Option<PathBuf> {
    let runs = top.parent()?;
    let tree = runs.parent()?.parent()?;
    let is_run = runs.file_name()? == "run" && runs.parent()?.file_name()? == "worktrees";
    let is_tree = tree.file_name()? == dialect.dir_name && tree.join("runs").is_dir();
    (is_run && is_tree).then(|| tree.parent().map(Path::to_owned))?
}

/// The top level of the main worktree, if `top` is that of a linked one. The file `.git`
/// names the worktree's folder inside the repository, whose file `commondir` names the
/// repository.
fn main_worktree(top: &Path, dialect: Dialect) -> Option<PathBuf> {
    if let Some(root) = project_of_run(top, dialect) {
        return Some(root);
    }
    let git_dir = read_git_pointer(&top.join(".git"))?;
    let common = read_plain_file(&git_dir.join("commondir"), MAX_GIT_FILE_BYTES).ok()?;
    let repository = fs::canonicalize(git_dir.join(common.trim())).ok()?;
    // A bare repository has no worktree of its own.
    let is_plain = repository.file_name()? == ".git";
    let main = repository.parent().filter(|_| is_plain)?;
    main.is_dir().then(|| main.to_owned())
}

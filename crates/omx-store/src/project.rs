//! Where a project is: found once, from values the edge hands in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use omx_kernel::Dialect;
use omx_process::git_dir::{find_worktree_top, read_git_pointer};
use sha2::{Digest, Sha256};

use crate::error::StoreError;

/// What the search may look at. Nothing here reads the environment.
#[derive(Clone, Copy, Debug)]
pub struct ProjectSearch<'a> {
    /// The working directory.
    pub working_directory: &'a Path,
    /// The person's home, never taken for a project by searching.
    pub home: Option<&'a Path>,
    /// A root that was named.
    pub root: Option<&'a Path>,
    /// A folder outside the repository for all trees.
    pub state_dir: Option<&'a Path>,
    /// The names in use.
    pub dialect: Dialect,
}

/// A project and the folder that holds what omx knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The project's own folder.
    pub root: PathBuf,
    /// omx's folder, usually inside it.
    pub tree: PathBuf,
}

/// Finds the project.
pub fn find_project(surroundings: ProjectSearch<'_>) -> Result<Project, StoreError> {
    let ProjectSearch { working_directory, root, dialect, .. } = surroundings;
    let root = match root {
        Some(named) => {
            let path = working_directory.join(named);
            let real = fs::canonicalize(&path).ok().filter(|real| real.is_dir());
            real.ok_or(StoreError::NoProject { path })?
        }
        None => search(surroundings),
    };
    let tree = moved_tree(&root, surroundings).unwrap_or_else(|| root.join(dialect.dir_name));
    Ok(Project { root, tree })
}

/// Where the tree of this project is, if all trees are kept outside their projects.
fn moved_tree(root: &Path, surroundings: ProjectSearch<'_>) -> Option<PathBuf> {
    let folder = surroundings.working_directory.join(surroundings.state_dir?);
    let name = root.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(folder.join(format!("{name}-{hex}")))
}

fn search(surroundings: ProjectSearch<'_>) -> PathBuf {
    let ProjectSearch { working_directory, home, dialect, .. } = surroundings;
    let home = home.map(|home| fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()));
    let is_searched = |folder: &Path| home.as_deref().is_none_or(|home| !home.starts_with(folder));
    let has_tree = |folder: &&Path| {
        moved_tree(folder, surroundings).is_some_and(|tree| tree.is_dir())
            || (folder.join(dialect.dir_name).is_dir() && !is_open_to_all(folder))
    };
    let ancestors = || working_directory.ancestors().take_while(|folder| is_searched(folder));
    let top = find_worktree_top(working_directory);
    match top.filter(|top| is_searched(top)) {
        Some(top) => {
            let inside = ancestors().take_while(|folder| folder.starts_with(top));
            match inside.into_iter().find(has_tree) {
                Some(found) => found.to_owned(),
                None => main_worktree(top)
                    .filter(|main| is_searched(main))
                    .unwrap_or_else(|| top.to_owned()),
            }
        }
        None => ancestors().find(has_tree).unwrap_or(working_directory).to_owned(),
    }
}

/// In a folder like `/tmp` anybody can plant a tree; it is never found by searching.
fn is_open_to_all(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|data| data.permissions().mode() & 0o002 != 0)
}

/// The top level of the main worktree, if `top` is a linked one. Read from
/// git's own files: a `.git` file names the worktree's folder inside the
/// repository, and that folder's `commondir` the repository.
fn main_worktree(top: &Path) -> Option<PathBuf> {
    let git_dir = read_git_pointer(&top.join(".git"))?;
    let common = fs::read_to_string(git_dir.join("commondir")).ok()?;
    let repository = fs::canonicalize(git_dir.join(common.trim())).ok()?;
    // A bare repository has no worktree of its own.
    let is_plain = repository.file_name()? == ".git";
    let main = repository.parent().filter(|_| is_plain)?;
    main.is_dir().then(|| main.to_owned())
}

//! A worktree that was moved or copied together with its repository: git keeps
//! the two apart by absolute paths, one in each, and both name the old place.
//!
//! The paths are set right here and not by `git worktree repair`: of a copy
//! whose original is still there, older versions of git would take the
//! original for its own and change it.

use std::fs;
use std::path::Path;

use omx_process::git_dir::read_git_pointer;

use super::error::GitError;
use super::names::BranchName;
use super::place::Checkout;

impl Checkout {
    /// Makes this repository know the worktree at a path, if it is the
    /// worktree of this branch and came here with it.
    pub(super) fn adopt_moved(&self, path: &Path, branch: &BranchName) -> Result<(), GitError> {
        let pointer = path.join(".git");
        let Some(named) = read_git_pointer(&pointer) else { return Ok(()) };
        let common = self.call(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
        let Some(name) = named.file_name() else { return Ok(()) };
        let own = common.path()?.join("worktrees").join(name);
        let Ok(head) = fs::read_to_string(own.join("HEAD")) else { return Ok(()) };
        let back = own.join("gitdir");
        let Ok(known) = fs::read_to_string(&back) else { return Ok(()) };
        let is_on_branch = head.trim() == format!("ref: {}", branch.reference());
        // One that lives elsewhere and is this repository's keeps its place.
        let lives =
            read_git_pointer(Path::new(known.trim())).is_some_and(|other| same(&other, &own));
        let is_elsewhere = !same(Path::new(known.trim()), &pointer);
        if !is_on_branch || (lives && is_elsewhere) {
            return Ok(());
        }
        // This way round: until both are written it is found here again.
        write(&pointer, &own, "gitdir: ")?;
        write(&back, &pointer, "")
    }
}

fn same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn write(file: &Path, path: &Path, before: &str) -> Result<(), GitError> {
    let mut text = before.as_bytes().to_vec();
    text.extend_from_slice(path.as_os_str().as_encoded_bytes());
    text.push(b'\n');
    fs::write(file, text).map_err(|error| GitError::io("write", file, error))
}

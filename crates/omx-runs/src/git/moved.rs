//! Adopts a worktree that was moved or copied together with its repository. git links
//! the two by absolute paths, one in each, and both still name the old place.
//!
//! This rewrites the paths itself instead of calling `git worktree repair`: if the
//! original of a copy still exists, older versions of git would change the original.

use std::fs;
use std::path::{Path, PathBuf};

use omx_process::git_dir::read_git_pointer;

use super::error::GitError;
use super::names::BranchName;
use super::place::Checkout;

impl Checkout {
    /// Registers the worktree at a path with this repository, if it has this branch
    /// checked out and was moved here together with the repository.
    pub(super) fn adopt_moved(&self, path: &Path, branch: &BranchName) -> Result<(), GitError> {
        let pointer = path.join(".git");
        let named = read_git_pointer(&pointer);
        if named.is_none() && pointer.symlink_metadata().is_ok() {
            return Ok(());
        }
        // The pointer may name the agent's own git directory, so the branch decides.
        let folder = self.common_dir().join("worktrees");
        let head = format!("ref: {}", branch.reference());
        let is_on_branch = |place: &PathBuf| {
            fs::read_to_string(place.join("HEAD")).is_ok_and(|text| text.trim() == head)
        };
        let mut places = fs::read_dir(folder).into_iter().flatten().flatten();
        let Some(own) = places.find_map(|entry| Some(entry.path()).filter(is_on_branch)) else {
            return Ok(());
        };
        let back = own.join("gitdir");
        let Ok(known) = fs::read_to_string(&back) else { return Ok(()) };
        // A worktree of this repository that still exists elsewhere stays registered there.
        let lives =
            read_git_pointer(Path::new(known.trim())).is_some_and(|other| same(&other, &own));
        let is_elsewhere = !same(Path::new(known.trim()), &pointer);
        if lives && is_elsewhere {
            return Ok(());
        }
        // In this order, a kill between the two writes leaves the worktree to be adopted again.
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

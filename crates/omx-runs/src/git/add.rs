//! The worktree of a run: created once, found again on a resume, and recreated from
//! its branch if the folder is missing.

use std::fs;
use std::path::{Path, PathBuf};

use super::call::{parts, path};
use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::Checkout;

/// Where a worktree came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorktreeOrigin {
    /// Branch and worktree are new.
    New,
    /// The worktree existed.
    Found,
    /// The branch existed, but the worktree did not.
    Restored,
}

/// A worktree to work in.
#[derive(Debug)]
pub struct AddedWorktree {
    /// The worktree.
    pub checkout: Checkout,
    /// Where it came from.
    pub origin: WorktreeOrigin,
}

/// A worktree that git has registered.
#[derive(Debug, Default)]
pub(super) struct Registered {
    pub path: PathBuf,
    /// The branch's full name.
    pub branch: Option<String>,
    /// The reason for its lock, if it is locked.
    pub locked: Option<String>,
}

/// The lock reason that git uses while it creates a worktree.
const BEING_MADE: &str = "initializing";

impl Checkout {
    /// Creates the worktree of a branch at a path, or finds it there. A new branch
    /// starts at `from`. Never touches this checkout, clean or not.
    pub fn add_worktree(
        &self,
        path: &Path,
        branch: &BranchName,
        from: &CommitId,
    ) -> Result<AddedWorktree, GitError> {
        let path = real(path)?;
        let registered = || self.registered().map(|all| all.into_iter().find(|it| it.path == path));
        let mut known = registered()?;
        if known.is_none() && path.exists() {
            self.adopt_moved(&path, branch)?;
            known = registered()?;
        }
        if let Some(found) = known {
            if found.locked.as_deref() == Some(BEING_MADE) {
                self.clear_unfinished(&path)?;
            } else if path.exists() {
                let checkout = self.worktree(&path)?;
                checkout.is_on(branch)?;
                return Ok(AddedWorktree { checkout, origin: WorktreeOrigin::Found });
            } else {
                // The folder is gone, so this only removes git's registration.
                self.call(&["worktree", "remove"]).arg(&path).output()?;
            }
        }
        if fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) || path.is_file() {
            return Err(GitError::Occupied { path });
        }
        let is_there = self.tip(branch)?.is_some();
        let add = self.call(&["worktree", "add", "--quiet"]).work();
        if is_there {
            add.arg(&path).arg(branch.as_str()).output()?;
        } else {
            let add = add.arg("--no-track").arg("-b").arg(branch.as_str());
            add.arg(&path).arg(from.as_str()).output()?;
        }
        let checkout = self.worktree(&path)?;
        checkout.is_on(branch)?;
        let origin = if is_there { WorktreeOrigin::Restored } else { WorktreeOrigin::New };
        Ok(AddedWorktree { checkout, origin })
    }

    /// Lists the worktrees that git has registered.
    pub(super) fn registered(&self) -> Result<Vec<Registered>, GitError> {
        let output = self.call(&["worktree", "list", "--porcelain", "-z"]).output()?;
        let mut found: Vec<Registered> = Vec::new();
        for part in parts(&output) {
            let (word, rest) = match part.iter().position(|byte| *byte == b' ') {
                Some(place) => (&part[..place], &part[place + 1..]),
                None => (part, &part[part.len()..]),
            };
            if word == b"worktree" {
                found.push(Registered { path: path(rest), ..Registered::default() });
            }
            let Some(last) = found.last_mut() else { continue };
            let text = || Some(String::from_utf8_lossy(rest).into_owned());
            match word {
                b"branch" => last.branch = text(),
                b"locked" => last.locked = text(),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Removes a worktree whose creation was killed. No caller has received it yet,
    /// so it contains only what git wrote.
    fn clear_unfinished(&self, path: &Path) -> Result<(), GitError> {
        let remove = || self.call(&["worktree", "remove", "--force", "--force"]).arg(path);
        if remove().output().is_ok() {
            return Ok(());
        }
        // Without its `.git` file, git no longer recognizes the folder as a worktree.
        fs::remove_dir_all(path).map_err(|error| GitError::io("remove", path, error))?;
        remove().output().map(drop)
    }
}

/// Resolves links the way git prints paths. The last component may be missing.
pub(super) fn real(path: &Path) -> Result<PathBuf, GitError> {
    let fail = |error| GitError::io("find", path, error);
    let missing = || fail(std::io::ErrorKind::NotFound.into());
    let parent = path.parent().ok_or_else(missing)?;
    let name = path.file_name().ok_or_else(missing)?;
    fs::canonicalize(parent).map(|parent| parent.join(name)).map_err(fail)
}

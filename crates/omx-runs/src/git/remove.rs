//! Removing a worktree when nothing can be lost by it: everything in it is
//! committed, and its commits are in the person's branch.

use std::path::{Path, PathBuf};

use super::add::{Registered, real};
use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, GitOperation, Head};

/// What came of removing a worktree.
#[derive(Debug, PartialEq, Eq)]
pub enum RemovedWorktree {
    /// Worktree and branch are gone.
    Removed,
    /// It stays.
    Kept(KeptWorktree),
}

/// Why a worktree stays.
#[derive(Debug, PartialEq, Eq)]
pub enum KeptWorktree {
    /// Not everything in it is committed.
    Dirty(Vec<PathBuf>),
    /// Something in it was begun and not ended.
    InProgress(GitOperation),
    /// Its commits are not in the checked-out branch.
    Unmerged,
    /// Somebody locked it, with this reason.
    Locked(String),
    /// It is on another branch than its own, or no worktree of this repository.
    Foreign,
    /// git itself refused, in its own words.
    Refused(String),
}

impl Checkout {
    /// Removes the worktree of a branch, and the branch, if both are clean and
    /// merged into what is checked out here. Files git ignores go with it, as
    /// they can be made again; all others keep it.
    pub fn remove_worktree(
        &self,
        path: &Path,
        branch: &BranchName,
    ) -> Result<RemovedWorktree, GitError> {
        let path = real(path)?;
        let known = self.registered()?.into_iter().find(|known| known.path == path);
        let tip = self.tip(branch)?;
        if let Some(why) = self.reason_to_keep(&path, branch, known.as_ref())? {
            return Ok(RemovedWorktree::Kept(why));
        }
        if !self.has(tip.as_ref())? {
            return Ok(RemovedWorktree::Kept(KeptWorktree::Unmerged));
        }
        // Never by force: git looks once more whether anything would be lost.
        if known.is_some() {
            let answer = self.call(&["worktree", "remove"]).arg(&path).work().answer()?;
            if answer.code != Some(0) {
                return Ok(RemovedWorktree::Kept(KeptWorktree::Refused(answer.words)));
            }
        }
        if let Some(tip) = tip {
            // Only as it was looked at; and `git branch` would write the person's
            // configuration anew.
            self.call(&["update-ref", "-d", &branch.reference(), tip.as_str()]).output()?;
        }
        Ok(RemovedWorktree::Removed)
    }

    /// Removes the worktree of a branch, and the branch, whatever they hold.
    /// Returns the commit the branch was at, so that it can be found again.
    /// A locked worktree and one that is on another branch stay.
    pub fn discard_worktree(
        &self,
        path: &Path,
        branch: &BranchName,
    ) -> Result<Result<Option<CommitId>, KeptWorktree>, GitError> {
        let path = real(path)?;
        let known = self.registered()?.into_iter().find(|known| known.path == path);
        let tip = self.tip(branch)?;
        match self.reason_to_keep(&path, branch, known.as_ref())? {
            None | Some(KeptWorktree::Dirty(_) | KeptWorktree::InProgress(_)) => {}
            Some(why) => return Ok(Err(why)),
        }
        if known.is_some() {
            let call = self.call(&["worktree", "remove", "--force"]).arg(&path).work();
            let answer = call.answer()?;
            if answer.code != Some(0) {
                return Ok(Err(KeptWorktree::Refused(answer.words)));
            }
        }
        if let Some(tip) = &tip {
            self.call(&["update-ref", "-d", &branch.reference(), tip.as_str()]).output()?;
        }
        Ok(Ok(tip))
    }

    fn reason_to_keep(
        &self,
        path: &Path,
        branch: &BranchName,
        known: Option<&Registered>,
    ) -> Result<Option<KeptWorktree>, GitError> {
        let is_there = path.symlink_metadata().is_ok();
        let Some(known) = known else { return Ok(is_there.then_some(KeptWorktree::Foreign)) };
        if let Some(reason) = &known.locked {
            return Ok(Some(KeptWorktree::Locked(reason.clone())));
        }
        if known.branch.as_deref() != Some(&branch.reference()) {
            return Ok(Some(KeptWorktree::Foreign));
        }
        if is_there {
            let worktree = self.git.checkout(path)?;
            if let Some(operation) = worktree.operation() {
                return Ok(Some(KeptWorktree::InProgress(operation)));
            }
            let status = worktree.status()?;
            if !status.is_clean() {
                let files = [status.touched(), status.untracked].concat();
                return Ok(Some(KeptWorktree::Dirty(files)));
            }
        }
        Ok(None)
    }

    /// Whether everything up to a commit is in what is checked out here.
    fn has(&self, tip: Option<&CommitId>) -> Result<bool, GitError> {
        let Some(tip) = tip else { return Ok(true) };
        match self.head()? {
            Head::Branch { commit, .. } | Head::Detached(commit) => self.is_in(tip, &commit),
            Head::Unborn => Ok(false),
        }
    }
}

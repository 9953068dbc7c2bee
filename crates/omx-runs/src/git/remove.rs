//! Removes a worktree if that loses nothing: everything in it is committed, and its
//! commits are in the person's branch.

use std::io;
use std::path::{Path, PathBuf};

use omx_process::platform::find_mount_below;
use omx_store::remove_tree;

use super::add::{Registered, real};
use super::call::Answer;
use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, GitOperation, Head};

/// The outcome of removing a worktree.
#[derive(Debug, PartialEq, Eq)]
pub enum RemovedWorktree {
    /// Worktree and branch are gone.
    Removed,
    /// The worktree was kept.
    Kept(KeptWorktree),
}

/// Why a worktree was kept.
#[derive(Debug, PartialEq, Eq)]
pub enum KeptWorktree {
    /// Not everything in it is committed.
    Dirty(Vec<PathBuf>),
    /// A git operation in it is not finished.
    InProgress(GitOperation),
    /// Its commits are not in the checked-out branch.
    Unmerged,
    /// Somebody locked it, with this reason.
    Locked(String),
    /// It has another branch checked out, or belongs to another repository.
    Foreign,
    /// There is a link in its place. The link's target does not belong to the run.
    Linked,
    /// A file system is mounted at this path. Its files do not belong to the run.
    Mounted(PathBuf),
    /// git does not know it as a worktree.
    Forgotten,
    /// git itself refused, in its own words.
    Refused(String),
}

impl KeptWorktree {
    /// Whether the worktree is kept only because its work is not merged yet.
    pub fn is_usual(&self) -> bool {
        matches!(self, Self::Dirty(_) | Self::InProgress(_) | Self::Unmerged)
    }
}

impl Checkout {
    /// Removes a branch and its worktree if both are clean and merged into what is
    /// checked out here. Ignored files are removed too, because they can be
    /// regenerated; any other uncommitted file keeps the worktree.
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
        if known.is_some() {
            let answer = self.remove_registered(&path)?;
            if answer.code != Some(0) {
                return Ok(RemovedWorktree::Kept(KeptWorktree::Refused(answer.words)));
            }
        }
        if let Some(tip) = tip {
            // Deletes the branch only at the commit that was checked. `git branch`
            // would also rewrite the person's configuration.
            self.call(&["update-ref", "-d", &branch.reference(), tip.as_str()]).output()?;
        }
        Ok(RemovedWorktree::Removed)
    }

    /// Removes a branch and its worktree, whatever they contain. Returns the commit
    /// the branch pointed to, so that it can be restored. Keeps a locked worktree and
    /// one that has another branch checked out.
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
            // Of a link, only the link.
            Some(KeptWorktree::Forgotten | KeptWorktree::Linked) => {
                let failed = |error| GitError::io("remove", &path, io::Error::other(error));
                remove_tree(&path).map_err(failed)?;
            }
            Some(why) => return Ok(Err(why)),
        }
        if known.is_some() {
            let answer = self.remove_registered(&path)?;
            if answer.code != Some(0) {
                return Ok(Err(KeptWorktree::Refused(answer.words)));
            }
        }
        if let Some(tip) = &tip {
            self.call(&["update-ref", "-d", &branch.reference(), tip.as_str()]).output()?;
        }
        Ok(Ok(tip))
    }

    /// Removes a worktree that was looked at. With `--force`, because git itself would
    /// look at it with whatever configuration the worktree names.
    fn remove_registered(&self, path: &Path) -> Result<Answer, GitError> {
        if path.symlink_metadata().is_ok() {
            self.worktree(path)?.restore_pointer()?;
        }
        let remove = || self.call(&["worktree", "remove", "--force"]).arg(path).work().answer();
        let mut answer = remove()?;
        if answer.code == Some(0) {
            return Ok(answer);
        }
        // git gives up at a folder that it may not write, or whose path is too long.
        // It may have forgotten the worktree all the same.
        match remove_tree(path) {
            Ok(()) if self.registered()?.iter().any(|known| known.path == path) => remove(),
            Ok(()) => {
                answer.code = Some(0);
                Ok(answer)
            }
            Err(error) => {
                answer.words = error.to_string();
                Ok(answer)
            }
        }
    }

    fn reason_to_keep(
        &self,
        path: &Path,
        branch: &BranchName,
        known: Option<&Registered>,
    ) -> Result<Option<KeptWorktree>, GitError> {
        let found = path.symlink_metadata();
        let is_there = found.is_ok();
        if found.is_ok_and(|found| !found.is_dir()) {
            return Ok(Some(KeptWorktree::Linked));
        }
        if let Some(mount) = find_mount_below(path) {
            return Ok(Some(KeptWorktree::Mounted(mount)));
        }
        let Some(known) = known else { return Ok(is_there.then_some(KeptWorktree::Forgotten)) };
        if let Some(reason) = &known.locked {
            return Ok(Some(KeptWorktree::Locked(reason.clone())));
        }
        if known.branch.as_deref() != Some(&branch.reference()) {
            return Ok(Some(KeptWorktree::Foreign));
        }
        if is_there {
            let worktree = self.worktree(path)?;
            if let Some(operation) = worktree.operation() {
                return Ok(Some(KeptWorktree::InProgress(operation)));
            }
            let status = worktree.status()?;
            let has_only_outputs =
                status.touched().is_empty() && worktree.are_build_outputs(&worktree.untracked()?);
            if !status.is_clean() && !has_only_outputs {
                let files = [status.touched(), status.untracked].concat();
                return Ok(Some(KeptWorktree::Dirty(files)));
            }
        }
        Ok(None)
    }

    /// Whether a commit is merged into what is checked out here.
    fn has(&self, tip: Option<&CommitId>) -> Result<bool, GitError> {
        let Some(tip) = tip else { return Ok(true) };
        match self.head()? {
            Head::Branch { commit, .. } | Head::Detached(commit) => self.is_in(tip, &commit),
            Head::Unborn => Ok(false),
        }
    }
}

//! Bringing a run's branch to the branch the person has checked out.
//!
//! Everything that can fail is done elsewhere first: conflicts are looked for
//! without a checkout, and the merge itself, with the person's hooks, is made
//! in a worktree of its own. The person's checkout only moves forward to what
//! is already there, in one step of git's; until then not a byte of it, its
//! index or its branch changes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::call::{parts, path};
use super::commit::CommitIdentity;
use super::diff::ChangedFile;
use super::error::GitError;
use super::hooks::FailedHook;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, Head, commit};

/// What integrating would come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergePreview {
    /// All of it is there already.
    Nothing,
    /// The person's branch would move forward.
    Forward,
    /// A merge, without a conflict.
    Merge,
    /// Both sides changed these files.
    Conflict(Vec<PathBuf>),
}

/// What integrating came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    /// The person's branch.
    pub into: String,
    /// Its last commit before.
    pub before: CommitId,
    /// Its last commit now; the same if all was there already.
    pub after: CommitId,
    /// A hook of the person's that failed when all was done: to be told.
    pub hook: Option<FailedHook>,
}

impl Checkout {
    /// Tells what integrating a branch here would come to. Touches nothing.
    pub fn preview(&self, branch: &BranchName) -> Result<MergePreview, GitError> {
        let (_, head) = self.branch()?;
        let tip = self.tip_of(branch)?;
        self.compare(&head, &tip)
    }

    /// Brings a branch to the one that is checked out here. Only into a clean
    /// checkout, and only if nothing conflicts. One at a time for a scratch
    /// folder: the caller holds the run's lock.
    pub fn integrate(&self, branch: &BranchName) -> Result<Integration, GitError> {
        if let Some(operation) = self.operation() {
            return Err(GitError::InProgress { operation });
        }
        let (into, head) = self.branch()?;
        let tip = self.tip_of(branch)?;
        let touched = self.status()?.touched();
        if !touched.is_empty() {
            return Err(GitError::Dirty { files: touched });
        }
        let target = match self.compare(&head, &tip)? {
            MergePreview::Nothing => head.clone(),
            MergePreview::Forward => tip.clone(),
            MergePreview::Conflict(files) => return Err(GitError::Conflict { files }),
            MergePreview::Merge => self.merge_aside(&into, &head, branch)?,
        };
        let hook = self.forward(&into, &head, &target)?;
        // Integrated is what git calls so.
        let (now, after) = self.branch()?;
        if now != into || !self.is_in(&tip, &after)? {
            return Err(GitError::Moved { branch: into });
        }
        Ok(Integration { into, before: head, after, hook })
    }

    fn branch(&self) -> Result<(String, CommitId), GitError> {
        match self.head()? {
            Head::Branch { name, commit } => Ok((name, commit)),
            Head::Detached(_) => Err(GitError::Detached),
            Head::Unborn => Err(GitError::NoCommit),
        }
    }

    fn tip_of(&self, branch: &BranchName) -> Result<CommitId, GitError> {
        self.tip(branch)?.ok_or_else(|| GitError::NoBranch { branch: branch.to_string() })
    }

    fn compare(&self, head: &CommitId, tip: &CommitId) -> Result<MergePreview, GitError> {
        if self.is_in(tip, head)? {
            return Ok(MergePreview::Nothing);
        }
        if self.is_in(head, tip)? {
            return Ok(MergePreview::Forward);
        }
        let call = self.call(&["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"]);
        let answer = call.arg(head.as_str()).arg(tip.as_str()).answer()?;
        match answer.code {
            Some(0) => Ok(MergePreview::Merge),
            // The first part is the tree that would be written.
            Some(1) => {
                Ok(MergePreview::Conflict(parts(&answer.output).skip(1).map(path).collect()))
            }
            Some(129) => Err(GitError::TooOld),
            _ => Err(answer.refusal()),
        }
    }

    /// Merges in a worktree of its own, which goes afterwards. The person's
    /// hooks run there; what they say no to never was in the person's checkout.
    fn merge_aside(
        &self,
        into: &str,
        head: &CommitId,
        branch: &BranchName,
    ) -> Result<CommitId, GitError> {
        if self.identity()? == CommitIdentity::Omx {
            return Err(GitError::NoIdentity);
        }
        let aside = self.git.scratch().join("merge");
        self.clear_aside(&aside)?;
        let add = self.call(&["worktree", "add", "--quiet", "--detach"]).without_hooks().work();
        let merged = add.arg(&aside).arg(head.as_str()).output().and_then(|_| {
            let message = format!("--message=Merge branch '{branch}' into {into}");
            let merge = ["merge", "--quiet", "--no-ff", "--no-edit", "--no-stat", &message];
            self.git.call(&aside, &merge).work().arg(branch.reference()).output()?;
            self.git.call(&aside, &["rev-parse", "--verify", "HEAD^{commit}"]).output()
        });
        let cleared = self.clear_aside(&aside);
        let merged = commit(&merged?)?;
        cleared?;
        Ok(merged)
    }

    /// The worktree for merging is omx's own, and nobody works in it.
    fn clear_aside(&self, aside: &Path) -> Result<(), GitError> {
        let remove = ["worktree", "remove", "--force", "--force"];
        let answer = self.call(&remove).arg(aside).work().answer()?;
        if answer.code != Some(0) && aside.exists() {
            // A killed git left a folder without what git tells a worktree by.
            fs::remove_dir_all(aside).map_err(|error| GitError::io("remove", aside, error))?;
            self.call(&remove).arg(aside).answer()?;
        }
        Ok(())
    }

    /// Moves the checkout forward to a commit that continues its history. A
    /// hook can fail only when that is done.
    fn forward(
        &self,
        into: &str,
        head: &CommitId,
        target: &CommitId,
    ) -> Result<Option<FailedHook>, GitError> {
        if head == target {
            return Ok(None);
        }
        let in_the_way = self.in_the_way(head, target)?;
        if !in_the_way.is_empty() {
            return Err(GitError::InTheWay { files: in_the_way });
        }
        let lock = self.git_dir().join("index.lock");
        if lock.exists() {
            return Err(GitError::Locked { path: lock });
        }
        // Ignored files are the person's, too.
        let merge = ["merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-stat"];
        let made = self.call(&merge).work().arg(target.as_str()).answer();
        if self.branch().is_ok_and(|(name, commit)| name == into && commit == *target) {
            return Ok(made.ok().and_then(|answer| answer.hook));
        }
        let answer = made?;
        if answer.words.contains("Not possible to fast-forward") {
            return Err(GitError::Moved { branch: into.to_owned() });
        }
        Err(answer.refusal())
    }

    /// Files that are not in git and stand where others would be written. git
    /// looks for itself, but leaves a trace of having tried.
    fn in_the_way(&self, head: &CommitId, target: &CommitId) -> Result<Vec<PathBuf>, GitError> {
        let files = self.changes(head, target)?.files;
        let goes: BTreeSet<&Path> = files
            .iter()
            .filter(|file| file.change == ChangedFile::Deleted)
            .map(|file| file.path.as_path())
            .collect();
        let stands = |place: &Path| {
            let found = self.top().join(place).symlink_metadata();
            found.is_ok_and(|found| !found.is_dir()) && !goes.contains(place)
        };
        let mut found = BTreeSet::new();
        for file in files.iter().filter(|file| file.change == ChangedFile::Added) {
            // A file may also stand where a folder comes; the last one is no name.
            let places = file.path.ancestors().filter(|place| *place != Path::new(""));
            found.extend(places.filter(|place| stands(place)).map(Path::to_owned));
        }
        Ok(found.into_iter().collect())
    }
}

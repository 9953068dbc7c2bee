//! Integrates a run's branch into the branch the person has checked out.
//!
//! Everything that can fail happens elsewhere first: `merge-tree` finds conflicts
//! without a checkout, and the merge itself and the person's hooks run in a
//! separate worktree. The person's checkout then fast-forwards to the finished result
//! in one git command. Until then its files, index and branch do not change.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::call::{parts, path};
use super::commit::CommitIdentity;
use super::diff::ChangedFile;
use super::error::GitError;
use super::hooks::FailedHook;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, Head, commit};

/// What an integration would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergePreview {
    /// Nothing: the branch is already merged.
    Nothing,
    /// Fast-forward the person's branch.
    Forward,
    /// Merge without conflicts.
    Merge,
    /// Nothing: both sides changed these files.
    Conflict(Vec<PathBuf>),
}

/// The result of an integration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integration {
    /// The person's branch.
    pub into: String,
    /// Its last commit before the integration.
    pub before: CommitId,
    /// Its last commit now; the same if there was nothing to do.
    pub after: CommitId,
    /// A hook of the person's that failed after the integration was complete; report it.
    pub hook: Option<FailedHook>,
}

impl Checkout {
    /// Determines what integrating a branch here would do. Changes nothing.
    pub fn preview(&self, branch: &BranchName) -> Result<MergePreview, GitError> {
        let (_, head) = self.branch()?;
        let tip = self.tip_of(branch)?;
        self.compare(&head, &tip)
    }

    /// Integrates a branch into the one checked out here. Requires a clean checkout
    /// and refuses conflicts. Integrations that share a scratch folder must not
    /// overlap, so the caller holds the run's lock.
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
        // Trust only what git reports now: the branch may have moved meanwhile.
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
            // The first part is the resulting tree.
            Some(1) => {
                Ok(MergePreview::Conflict(parts(&answer.output).skip(1).map(path).collect()))
            }
            Some(129) => Err(GitError::TooOld),
            _ => Err(answer.refusal()),
        }
    }

    /// Merges in a temporary worktree, where the person's hooks run. If a hook
    /// refuses, the person's checkout has never contained the merge.
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
        let add = self.call(&["worktree", "add", "--quiet", "--detach"]).work();
        let added = add.arg(&aside).arg(head.as_str()).output();
        let merged = added.and_then(|_| self.merge_in(&self.worktree(&aside)?, into, branch));
        let cleared = self.clear_aside(&aside);
        let merged = merged?;
        cleared?;
        Ok(merged)
    }

    /// Merges a branch in the temporary worktree, with the hooks of this checkout.
    fn merge_in(
        &self,
        aside: &Self,
        into: &str,
        branch: &BranchName,
    ) -> Result<CommitId, GitError> {
        let merge = ["merge", "--quiet", "--no-ff", "--no-commit", "--no-stat"];
        let message = format!("--message=Merge branch '{branch}' into {into}");
        let call = aside.call(&merge).arg(message).work();
        call.arg(branch.reference()).output()?;
        let message = aside.git_dir().join("MERGE_MSG");
        let hooks = self.hooks_folder();
        let with_message = [message.as_os_str()];
        let prepared = [message.as_os_str(), OsStr::new("merge")];
        for (name, args) in [
            ("pre-merge-commit", &[][..]),
            ("prepare-commit-msg", &prepared),
            ("commit-msg", &with_message),
        ] {
            if let Some(hook) = aside.run_hook(&hooks, name, args)? {
                return Err(GitError::Hook { hook });
            }
        }
        let call = aside.call(&["commit", "--quiet", "--no-edit", "--cleanup=whitespace"]);
        // The person's settings may have it signed.
        call.unconfined().work().output()?;
        commit(&aside.call(&["rev-parse", "--verify", "HEAD^{commit}"]).output()?)
    }

    /// Removes the temporary worktree. It belongs to omx, and nobody works in it.
    fn clear_aside(&self, aside: &Path) -> Result<(), GitError> {
        let remove = ["worktree", "remove", "--force", "--force"];
        let answer = self.call(&remove).arg(aside).work().answer()?;
        if answer.code != Some(0) && aside.exists() {
            // Without its `.git` file, git no longer recognizes the folder as a worktree.
            fs::remove_dir_all(aside).map_err(|error| GitError::io("remove", aside, error))?;
            self.call(&remove).arg(aside).answer()?;
        }
        Ok(())
    }

    /// Fast-forwards the checkout to a commit. A hook can fail only after that is complete.
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
        // Ignored files belong to the person, so never overwrite them.
        let merge = ["merge", "--quiet", "--ff-only", "--no-overwrite-ignore", "--no-stat"];
        let made = self.call(&merge).work().arg(target.as_str()).answer();
        if self.branch().is_ok_and(|(name, commit)| name == into && commit == *target) {
            return self.after_merge(head, target);
        }
        let answer = made?;
        if answer.words.contains("Not possible to fast-forward") {
            return Err(GitError::Moved { branch: into.to_owned() });
        }
        Err(answer.refusal())
    }

    /// Runs the person's hook for a finished merge, unless the merge brought the hook.
    fn after_merge(
        &self,
        head: &CommitId,
        target: &CommitId,
    ) -> Result<Option<FailedHook>, GitError> {
        let hooks = self.hooks_folder();
        if let Ok(folder) = hooks.strip_prefix(self.top()) {
            let changes = self.changes(head, target)?.files;
            if changes.iter().any(|file| file.path.starts_with(folder)) {
                return Ok(None);
            }
        }
        self.run_hook(&hooks, "post-merge", &[OsStr::new("0")])
    }

    /// Returns untracked files that the fast-forward would overwrite. git checks this
    /// too, but its failed attempt leaves traces.
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
            // A file may also occupy the path of a new folder. The last ancestor is empty.
            let places = file.path.ancestors().filter(|place| *place != Path::new(""));
            found.extend(places.filter(|place| stands(place)).map(Path::to_owned));
        }
        Ok(found.into_iter().collect())
    }
}

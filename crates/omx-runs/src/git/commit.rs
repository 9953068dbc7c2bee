//! Commits a run's work on its own branch.

use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, Head, commit};

/// Who a commit is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitIdentity {
    /// The person, as configured in git.
    Person,
    /// omx, because git has no identity configured.
    Omx,
}

/// The outcome of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// A new commit was created.
    Commit {
        /// The commit.
        commit: CommitId,
        /// Who it is attributed to.
        identity: CommitIdentity,
    },
    /// Everything was already committed; this is the last commit.
    Nothing(CommitId),
}

impl Checkout {
    /// Commits everything that is not ignored to a branch of omx's own, which must be
    /// checked out here. No hook runs and nothing is signed. Without a configured
    /// identity, omx commits in its own name: a missing identity must not end a run. The
    /// person's own branches never get such a commit.
    pub fn commit_all(
        &self,
        branch: &BranchName,
        message: &str,
    ) -> Result<CommitOutcome, GitError> {
        let parent = self.is_on(branch)?;
        if let Some(operation) = self.operation() {
            return Err(GitError::InProgress { operation });
        }
        let unmerged = self.status()?.unmerged;
        if !unmerged.is_empty() {
            return Err(GitError::Conflict { files: unmerged });
        }
        let tree = self.stage_all(None)?;
        let last = self.call(&["rev-parse", "--verify", &format!("{parent}^{{tree}}")]).line()?;
        if last == tree.as_str() {
            return Ok(CommitOutcome::Nothing(parent));
        }
        let identity = self.identity()?;
        // Plumbing, so that no setting of `git commit` applies.
        let mut call = self
            .call(&["commit-tree", tree.as_str(), "-p", parent.as_str()])
            .set("i18n.commitEncoding=UTF-8")
            .input(clean_message(message).into_bytes())
            .work();
        if identity == CommitIdentity::Omx {
            for (name, value) in [
                ("GIT_AUTHOR_NAME", "omx"),
                ("GIT_AUTHOR_EMAIL", "omx@localhost"),
                ("GIT_COMMITTER_NAME", "omx"),
                ("GIT_COMMITTER_EMAIL", "omx@localhost"),
            ] {
                call = call.env(name, value);
            }
        }
        let commit = commit(&call.output()?)?;
        let update = ["update-ref", "-m", "step", &branch.reference()];
        self.call(&update).arg(commit.as_str()).arg(parent.as_str()).work().output()?;
        Ok(CommitOutcome::Commit { commit, identity })
    }

    /// Returns the last commit, if this branch is checked out.
    pub(super) fn is_on(&self, branch: &BranchName) -> Result<CommitId, GitError> {
        let found = match self.head()? {
            Head::Branch { name, commit } if name == branch.as_str() => return Ok(commit),
            Head::Branch { name, .. } => format!("branch {name}"),
            Head::Detached(commit) => format!("commit {commit}"),
            Head::Unborn => "a branch without a commit".to_owned(),
        };
        let path = self.top().to_owned();
        Err(GitError::WrongBranch { path, found, expected: branch.to_string() })
    }

    /// Determines whether git has an identity configured.
    pub(super) fn identity(&self) -> Result<CommitIdentity, GitError> {
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            let answer = self.call(&["var", who]).answer()?;
            match answer.code {
                Some(0) => {}
                Some(128) => return Ok(CommitIdentity::Omx),
                _ => return Err(answer.refusal()),
            }
        }
        Ok(CommitIdentity::Person)
    }
}

/// Removes control characters, which a terminal would obey, trailing white space, and
/// empty lines at the beginning.
fn clean_message(message: &str) -> String {
    let is_kept = |found: &char| !found.is_control() || matches!(found, '\n' | '\t');
    let text: String = message.chars().filter(is_kept).collect();
    let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

//! Commits a run's work on its own branch. The person's hooks may refuse a commit.

use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, Head};

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
    /// checked out here. Hooks run and may refuse; commits are not signed. Without a
    /// configured identity, omx commits in its own name: a missing identity must not
    /// end a run. The person's own branches never get such a commit.
    pub fn commit_all(
        &self,
        branch: &BranchName,
        message: &str,
    ) -> Result<CommitOutcome, GitError> {
        self.is_on(branch)?;
        if let Some(operation) = self.operation() {
            return Err(GitError::InProgress { operation });
        }
        let unmerged = self.status()?.unmerged;
        if !unmerged.is_empty() {
            return Err(GitError::Conflict { files: unmerged });
        }
        self.call(&["add", "--all"]).work().output()?;
        let staged = self.call(&["diff", "--cached", "--quiet"]).answer()?;
        match staged.code {
            Some(0) => return Ok(CommitOutcome::Nothing(self.is_on(branch)?)),
            Some(1) => {}
            _ => return Err(staged.refusal()),
        }
        let identity = self.identity()?;
        // No argument can contain a zero byte.
        let message = format!("--message={}", message.replace('\0', ""));
        let mut call = self
            .call(&["commit", "--quiet", "--no-gpg-sign", "--cleanup=whitespace", &message])
            .set("commit.template=")
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
        call.output()?;
        Ok(CommitOutcome::Commit { commit: self.is_on(branch)?, identity })
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

//! Committing a run's work on its own branch, by nobody's leave but the hooks'.

use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, Head};

/// In whose name a commit was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitIdentity {
    /// The person's, as git knows it.
    Person,
    /// omx's own, because git knows nobody.
    Omx,
}

/// What came of committing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// There is a new commit.
    Commit {
        /// Which.
        commit: CommitId,
        /// In whose name.
        identity: CommitIdentity,
    },
    /// Everything was committed already; this is the last commit.
    Nothing(CommitId),
}

impl Checkout {
    /// Commits everything that is not ignored on a branch of omx's own, which
    /// must be checked out here. Hooks run and may refuse; nothing is signed.
    /// Where git knows nobody, the commit is omx's: a run does not end for
    /// that, and the person's branches never get such a commit by omx.
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
        // No text has a zero byte, and no argument can.
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

    /// The last commit, if this branch is checked out.
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

    /// Whether git knows who commits.
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

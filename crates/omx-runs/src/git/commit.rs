//! Commits a run's work on its own branch.

use omx_kernel::Dialect;

use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::{Checkout, Head, commit};
use super::staging::StagedContent;

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

/// What became of a step's changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepCommit {
    /// The hash of the workspace's content; `None` outside git.
    pub tree: Option<String>,
    /// The new commit, if there is one. It is on disk.
    pub commit: Option<String>,
    /// What the person should know about it.
    pub notes: Vec<String>,
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
        self.commit_staged(branch, message).map(|(outcome, _)| outcome)
    }

    /// The same. Also returns the content, and what is not part of it.
    pub(crate) fn commit_staged(
        &self,
        branch: &BranchName,
        message: &str,
    ) -> Result<(CommitOutcome, StagedContent), GitError> {
        let parent = self.is_on(branch)?;
        if let Some(operation) = self.operation() {
            return Err(GitError::InProgress { operation });
        }
        let unmerged = self.status()?.unmerged;
        if !unmerged.is_empty() {
            return Err(GitError::Conflict { files: unmerged });
        }
        let content = self.stage_all(None)?;
        let tree = &content.tree;
        let last = self.call(&["rev-parse", "--verify", &format!("{parent}^{{tree}}")]).line()?;
        if last == tree.as_str() {
            return Ok((CommitOutcome::Nothing(parent), content));
        }
        let identity = self.identity()?;
        // Plumbing, so that no setting of `git commit` applies.
        let mut call = self
            .call(&["commit-tree", tree.as_str(), "-p", parent.as_str()])
            .set("i18n.commitEncoding=UTF-8")
            .input(clean_message(message).into_bytes())
            .durable()
            .work();
        if identity == CommitIdentity::Omx {
            let name = Dialect::of_branch(branch.as_str()).name;
            let email = format!("{name}@localhost");
            call = call.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", &email);
            call = call.env("GIT_COMMITTER_NAME", name).env("GIT_COMMITTER_EMAIL", &email);
        }
        let commit = commit(&call.output()?)?;
        let update = ["update-ref", "-m", "step", &branch.reference()];
        let call = self.call(&update).arg(commit.as_str()).arg(parent.as_str());
        call.durable().work().output()?;
        self.flush_commit(branch, &parent, &commit)?;
        Ok((CommitOutcome::Commit { commit, identity }, content))
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

/// Removes characters that a terminal would obey, trailing white space, and empty lines at
/// the beginning.
fn clean_message(message: &str) -> String {
    let is_bidi = |found: char| {
        matches!(found, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(found, '\u{2066}'..='\u{2069}')
    };
    let is_kept =
        |found: &char| (!found.is_control() || matches!(found, '\n' | '\t')) && !is_bidi(*found);
    let text: String = message.chars().filter(is_kept).collect();
    let lines: Vec<&str> = text.trim().lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n"))
}

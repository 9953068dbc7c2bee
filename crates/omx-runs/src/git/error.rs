//! Errors of git by cause, each with what the person can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::hooks::FailedHook;
use super::place::GitOperation;

/// Why git failed. The person's checkout is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// git is not installed.
    #[error("git is not installed, or not found as {}", program.display())]
    NotInstalled {
        /// The program that was looked up.
        program: PathBuf,
    },
    /// A link is in the place of a worktree.
    #[error("{} is a link in the place of a worktree; nothing is read or written through it", path.display())]
    LinkedWorktree {
        /// The link.
        path: PathBuf,
    },
    /// This version of git lacks a required feature.
    #[error("git is too old: 2.38 or newer is needed to detect conflicts without changing files")]
    TooOld,
    /// The folder belongs to another user.
    #[error(
        "git does not trust {0}, because another user owns it; to trust it: \
         git config --global --add safe.directory {0}", folder.display()
    )]
    NotTrusted {
        /// The folder.
        folder: PathBuf,
    },
    /// The repository has no commit yet.
    #[error(
        "the repository has no commits; create the first one: git commit --allow-empty -m start"
    )]
    NoCommit,
    /// No branch is checked out.
    #[error("no branch is checked out; switch to one first: git switch BRANCH")]
    Detached,
    /// A merge, rebase or similar operation is in progress.
    #[error("{operation} is in progress; finish or abort it first: {}", operation.way_out())]
    InProgress {
        /// The operation.
        operation: GitOperation,
    },
    /// The checkout has uncommitted changes.
    #[error("the checkout has uncommitted changes: {}", list(files))]
    Dirty {
        /// The changed files.
        files: Vec<PathBuf>,
    },
    /// Both sides changed the same files.
    #[error("both sides changed {}; nothing was merged", list(files))]
    Conflict {
        /// The files in conflict.
        files: Vec<PathBuf>,
    },
    /// Untracked files would be overwritten.
    #[error("untracked files would be overwritten: {}", list(files))]
    InTheWay {
        /// The untracked files.
        files: Vec<PathBuf>,
    },
    /// The repository has no worktree there.
    #[error("the repository has no worktree at {}", path.display())]
    NoWorktree {
        /// The path.
        path: PathBuf,
    },
    /// What git would execute changed since the run started.
    #[error(
        "the configuration of the repository changed since the run started: {}; git is \
         called there only if it is as it was", changes.join("; ")
    )]
    RepositoryChanged {
        /// What changed.
        changes: Vec<String>,
    },
    /// The person's checkout changed although no step may change it.
    #[error(
        "your checkout {} changed during the run, and nothing kept the agent from it: {}; if this \
         was not you, undo it; then resume the run", top.display(), changes.join("; ")
    )]
    CheckoutChanged {
        /// The top of the checkout.
        top: PathBuf,
        /// What changed.
        changes: Vec<String>,
    },
    /// The branch does not contain what the run committed.
    #[error("commit {commit} of the run is not in its branch {branch} any more")]
    MissingWork {
        /// The commit.
        commit: String,
        /// The branch.
        branch: String,
    },
    /// There is a repository inside the working tree that the project does not have.
    #[error(
        "the workspace {} has a repository of its own in {}; nothing was committed; remove the \
         .git there, or the folder", top.display(), list(folders)
    )]
    Nested {
        /// The top of the working tree.
        top: PathBuf,
        /// The folders of the repositories.
        folders: Vec<PathBuf>,
    },
    /// The branch does not exist.
    #[error("branch {branch} does not exist")]
    NoBranch {
        /// The branch.
        branch: String,
    },
    /// The person's branch moved during the operation.
    #[error("branch {branch} has moved in the meantime; try again")]
    Moved {
        /// The branch.
        branch: String,
    },
    /// A worktree has another branch checked out than its own.
    #[error("{} has {found} checked out instead of {expected}", path.display())]
    WrongBranch {
        /// The worktree.
        path: PathBuf,
        /// The branch it has checked out.
        found: String,
        /// The branch it should have checked out.
        expected: String,
    },
    /// Something else occupies the path of a worktree.
    #[error("{} already exists and is not a worktree of this run", path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
    },
    /// One of the person's hooks refused.
    #[error("{hook}")]
    Hook {
        /// The hook and its output.
        hook: FailedHook,
    },
    /// git has no identity configured.
    #[error(
        "git has no user name and email; set them: git config --global user.name \"Your Name\" && \
         git config --global user.email you@example.com"
    )]
    NoIdentity,
    /// Another git process is running, or was killed and left its lock.
    #[error(
        "another git process is using this repository, or was killed in it; \
         if none is running, remove {}", path.display()
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// git timed out and was terminated.
    #[error("git {what} timed out after {} s and was terminated", after.as_secs())]
    TimedOut {
        /// The call.
        what: String,
        /// The deadline.
        after: Duration,
    },
    /// Anything else, with git's own message.
    #[error("git {what} failed: {words}")]
    Failed {
        /// The call.
        what: String,
        /// git's message.
        words: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The operation that failed.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

impl GitError {
    pub(super) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), source: source.into() }
    }

    /// Maps git's message to a specific cause where the person can act on it.
    pub(super) fn explain(what: String, folder: &Path, words: &str) -> Self {
        if words.contains("detected dubious ownership") {
            return Self::NotTrusted { folder: folder.to_owned() };
        }
        let lock = words.split('\'').find(|part| part.ends_with(".lock"));
        if let Some(path) = lock.filter(|_| words.contains("File exists")) {
            return Self::Locked { path: path.into() };
        }
        let words = words.trim();
        let words = if words.is_empty() { "it gave no reason" } else { words };
        Self::Failed { what, words: words.to_owned() }
    }
}

/// Names the first few files of a long list.
fn list(files: &[PathBuf]) -> String {
    const SHOWN: usize = 5;
    let names: Vec<String> =
        files.iter().take(SHOWN).map(|file| format!("{:?}", file.display().to_string())).collect();
    let names = names.join(", ");
    match files.len().saturating_sub(SHOWN) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

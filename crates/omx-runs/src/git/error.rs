//! What git can say no to, by its cause, with what a person can do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::hooks::FailedHook;
use super::place::GitOperation;

/// Why git did not do something. The person's checkout is as it was.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git.
    #[error("git is not installed, or not found as {}", program.display())]
    NotInstalled {
        /// What was looked for.
        program: PathBuf,
    },
    /// A git that cannot do what is needed.
    #[error("git 2.38 or newer is needed to look for conflicts without touching anything")]
    TooOld,
    /// The folder belongs to another user.
    #[error(
        "git does not trust {0}, because it belongs to somebody else; if you do: \
         git config --global --add safe.directory {0}", folder.display()
    )]
    NotTrusted {
        /// Which.
        folder: PathBuf,
    },
    /// A repository without a first commit.
    #[error("there is no commit yet; make a first one: git commit --allow-empty -m start")]
    NoCommit,
    /// The checkout is on no branch.
    #[error("the checkout is on no branch; switch to one first: git switch BRANCH")]
    Detached,
    /// A merge or the like was begun and not ended.
    #[error("{operation} is in progress; end it first: {}", operation.way_out())]
    InProgress {
        /// Which.
        operation: GitOperation,
    },
    /// ChangeSet that are not committed.
    #[error("the checkout has changes that are not committed: {}", list(files))]
    Dirty {
        /// In which files.
        files: Vec<PathBuf>,
    },
    /// Both sides changed the same.
    #[error("both sides changed {}; nothing was merged", list(files))]
    Conflict {
        /// Which files.
        files: Vec<PathBuf>,
    },
    /// Files that are not in git stand where others would be written.
    #[error("files that are not in git would be overwritten: {}", list(files))]
    InTheWay {
        /// Which.
        files: Vec<PathBuf>,
    },
    /// There is no such branch.
    #[error("there is no branch {branch}")]
    NoBranch {
        /// Which.
        branch: String,
    },
    /// The person's branch got a commit while this was at work.
    #[error("the branch {branch} changed meanwhile; try again")]
    Moved {
        /// Which.
        branch: String,
    },
    /// A worktree that is on another branch than the one it was made for.
    #[error("{} is on {found}, and belongs on {expected}", path.display())]
    WrongBranch {
        /// Where.
        path: PathBuf,
        /// What it is on.
        found: String,
        /// What it should be on.
        expected: String,
    },
    /// Something else stands where a worktree belongs.
    #[error("{} is there already and is no worktree of this run", path.display())]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// A hook of the person's said no.
    #[error("{hook}")]
    Hook {
        /// Which, and what it said.
        hook: FailedHook,
    },
    /// git does not know who commits.
    #[error(
        "git does not know who you are: git config --global user.name \"Your Name\" && \
         git config --global user.email you@example.com"
    )]
    NoIdentity,
    /// Another git is at work, or was killed there.
    #[error(
        "another git is at work in this repository, or one was killed there; \
         if none is, remove {}", path.display()
    )]
    Locked {
        /// The lock.
        path: PathBuf,
    },
    /// It took too long and was stopped.
    #[error("git {what} did not end within {} s and was stopped", after.as_secs())]
    TimedOut {
        /// What was asked.
        what: String,
        /// How long it had.
        after: Duration,
    },
    /// Anything else, in git's own words.
    #[error("git {what} failed: {words}")]
    Failed {
        /// What was asked.
        what: String,
        /// What git said.
        words: String,
    },
    /// A file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl GitError {
    pub(super) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), source: source.into() }
    }

    /// What git's words mean, where they mean something of which a person
    /// should know the cause.
    pub(super) fn explain(what: String, folder: &Path, words: &str) -> Self {
        if words.contains("detected dubious ownership") {
            return Self::NotTrusted { folder: folder.to_owned() };
        }
        let lock = words.split('\'').find(|part| part.ends_with(".lock"));
        if let Some(path) = lock.filter(|_| words.contains("File exists")) {
            return Self::Locked { path: path.into() };
        }
        let words = words.trim();
        let words = if words.is_empty() { "it did not say why" } else { words };
        Self::Failed { what, words: words.to_owned() }
    }
}

/// A few names of a long list.
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

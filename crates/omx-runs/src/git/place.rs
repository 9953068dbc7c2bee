//! Where a folder stands: outside any repository, in a bare one, or in a checkout,
//! and which operation is in progress there.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::add::real;
use super::call::{Call, Git};
use super::error::GitError;
use super::names::{BranchName, CommitId, TreeId};
use super::settings::GitSettings;

/// What git knows about a folder.
#[derive(Debug)]
pub enum GitLocation {
    /// No repository, or the inside of a `.git` folder.
    Outside,
    /// A repository without a checkout.
    Bare,
    /// A checkout, or a folder in one.
    Checkout(Checkout),
}

/// A checkout: the person's, or a worktree of omx's.
#[derive(Clone, Debug)]
pub struct Checkout {
    pub(super) git: Git,
    top: PathBuf,
    prefix: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    owner: CheckoutOwner,
    settings: GitSettings,
}

/// Whose checkout it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckoutOwner {
    /// The person's.
    Person,
    /// A worktree of omx's, in which agents work.
    Omx,
}

/// What is checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Head {
    /// A branch without commits.
    Unborn,
    /// A commit without a branch.
    Detached(CommitId),
    /// A branch.
    Branch {
        /// Its name, without `refs/heads/`.
        name: String,
        /// Its last commit.
        commit: CommitId,
    },
}

/// A git operation that was started and not finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GitOperation {
    /// A merge.
    Merge,
    /// A rebase, or patches from mail.
    Rebase,
    /// A cherry-pick.
    CherryPick,
    /// A revert.
    Revert,
    /// A bisection.
    Bisect,
}

impl GitOperation {
    /// The files by which git marks each operation.
    const FILES: [(&'static str, Self); 7] = [
        ("rebase-merge", Self::Rebase),
        ("rebase-apply", Self::Rebase),
        ("MERGE_HEAD", Self::Merge),
        ("CHERRY_PICK_HEAD", Self::CherryPick),
        ("REVERT_HEAD", Self::Revert),
        ("sequencer", Self::CherryPick),
        ("BISECT_LOG", Self::Bisect),
    ];

    /// The commands that finish or abort it.
    pub(super) const fn way_out(self) -> &'static str {
        match self {
            Self::Merge => "git commit, or git merge --abort",
            Self::Rebase => "git rebase --continue, or git rebase --abort",
            Self::CherryPick => "git cherry-pick --continue, or git cherry-pick --abort",
            Self::Revert => "git revert --continue, or git revert --abort",
            Self::Bisect => "git bisect reset",
        }
    }
}

impl fmt::Display for GitOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "a merge",
            Self::Rebase => "a rebase",
            Self::CherryPick => "a cherry-pick",
            Self::Revert => "a revert",
            Self::Bisect => "a bisection",
        })
    }
}

impl Git {
    /// Determines where a folder stands, by git's own search. Only for folders of the
    /// person's: in a folder that an agent writes to, the search finds what the agent
    /// wants. Use [`Checkout::worktree`] there.
    pub fn locate(&self, folder: &Path) -> Result<GitLocation, GitError> {
        let ask = |question: &[&str]| self.call(folder, &[&["rev-parse"], question].concat());
        let answer = ask(&["--is-bare-repository", "--is-inside-work-tree"]).answer()?;
        if answer.code != Some(0) {
            let is_outside = answer.words.contains("not a git repository");
            return if is_outside { Ok(GitLocation::Outside) } else { Err(answer.refusal()) };
        }
        match String::from_utf8_lossy(&answer.output).split_whitespace().collect::<Vec<_>>()[..] {
            [_, "true"] => {}
            ["true", _] => return Ok(GitLocation::Bare),
            _ => return Ok(GitLocation::Outside),
        }
        // One call for each path: a path may contain any byte, including a newline.
        let common = ask(&["--path-format=absolute", "--git-common-dir"]);
        let checkout = Checkout {
            git: self.clone(),
            top: ask(&["--show-toplevel"]).path()?,
            prefix: ask(&["--show-prefix"]).path()?,
            git_dir: ask(&["--absolute-git-dir"]).path()?,
            common_dir: common.path()?,
            owner: CheckoutOwner::Person,
            settings: GitSettings::default(),
        };
        checkout.with_settings().map(GitLocation::Checkout)
    }
}

impl Checkout {
    /// The top folder of the checkout.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The given folder relative to the top; empty for the top itself. Join it to the
    /// top of another worktree to get the same folder there.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The folder where git keeps what belongs to this checkout alone.
    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The folder of the repository, which all its worktrees share.
    pub(super) fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// Prepares a call that searches for nothing: `.git` in the working tree is never read.
    pub(super) fn call(&self, args: &[&str]) -> Call<'_> {
        let call = self
            .git
            .call(&self.top, args)
            .env("GIT_DIR", &self.git_dir)
            .env("GIT_COMMON_DIR", &self.common_dir)
            .env("GIT_WORK_TREE", &self.top)
            .overriding(&self.settings);
        match self.owner {
            CheckoutOwner::Omx => call.writing(self.written_by_git()),
            CheckoutOwner::Person => call,
        }
    }

    /// What git changes in a worktree of omx's, and in the repository on its behalf.
    fn written_by_git(&self) -> Vec<PathBuf> {
        let shared = ["objects", "refs", "logs", "reftable", "lfs"];
        let shared = shared.map(|name| self.common_dir.join(name));
        [self.top.clone(), self.git_dir.clone()].into_iter().chain(shared).collect()
    }

    /// The settings in effect.
    pub(super) fn settings(&self) -> &GitSettings {
        &self.settings
    }

    /// Reads the settings again.
    pub fn reread(&self) -> Result<Self, GitError> {
        self.clone().with_settings()
    }

    fn with_settings(mut self) -> Result<Self, GitError> {
        self.settings = GitSettings::default();
        self.settings = GitSettings::read(&self)?;
        Ok(self)
    }

    /// Returns the worktree at a path, from the repository's own list of worktrees and
    /// not from what is found at the path.
    pub fn worktree(&self, path: &Path) -> Result<Self, GitError> {
        let missing = || GitError::NoWorktree { path: path.to_owned() };
        let path = &real(path).map_err(|_| missing())?;
        if path.is_symlink() {
            return Err(GitError::LinkedWorktree { path: path.to_owned() });
        }
        let git_dir = self.worktree_git_dir(path)?.ok_or_else(missing)?;
        let checkout = Self {
            git: self.git.clone(),
            top: path.to_owned(),
            prefix: PathBuf::new(),
            git_dir,
            common_dir: self.common_dir.clone(),
            owner: CheckoutOwner::Omx,
            settings: GitSettings::default(),
        };
        checkout.with_settings()
    }

    /// Finds where git keeps what belongs to the worktree at a path.
    fn worktree_git_dir(&self, path: &Path) -> Result<Option<PathBuf>, GitError> {
        let folder = self.common_dir.join("worktrees");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(GitError::io("read", &folder, error)),
        };
        let pointer = path.join(".git");
        let is_its = |place: &PathBuf| {
            let Ok(named) = fs::read(place.join("gitdir")) else { return false };
            let named = named.strip_suffix(b"\n").unwrap_or(&named);
            place.join(OsStr::from_bytes(named)) == pointer
        };
        Ok(entries.flatten().map(|entry| entry.path()).find(is_its))
    }

    /// Returns what is checked out.
    pub fn head(&self) -> Result<Head, GitError> {
        let branch = self.call(&["symbolic-ref", "-q", "HEAD"]).answer()?;
        let Some(commit) = self.commit_of("HEAD")? else { return Ok(Head::Unborn) };
        let name = String::from_utf8_lossy(&branch.output).trim().to_owned();
        match (branch.code, name.strip_prefix("refs/heads/")) {
            (Some(0), Some(name)) => Ok(Head::Branch { name: name.to_owned(), commit }),
            (Some(0 | 1), _) => Ok(Head::Detached(commit)),
            _ => Err(branch.refusal()),
        }
    }

    /// Returns the last commit of a branch of omx's own; `None` if it does not exist.
    pub fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        self.commit_of(&branch.reference())
    }

    fn commit_of(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        let name = format!("{name}^{{commit}}");
        let answer =
            self.call(&["rev-parse", "-q", "--verify", "--end-of-options", &name]).answer()?;
        match answer.code {
            Some(0) => commit(&answer.output).map(Some),
            Some(1) => Ok(None),
            _ => Err(answer.refusal()),
        }
    }

    /// Returns the names of the branches below a prefix, without it.
    pub(crate) fn branches_below(&self, prefix: &str) -> Result<Vec<String>, GitError> {
        let output = self.call(&["for-each-ref", "--format=%(refname)", prefix]).output()?;
        let text = String::from_utf8_lossy(&output).into_owned();
        Ok(text.lines().filter_map(|name| name.strip_prefix(prefix)).map(str::to_owned).collect())
    }

    /// Returns the content of a branch of omx's own.
    pub(crate) fn branch_content(&self, branch: &BranchName) -> Result<TreeId, GitError> {
        let name = format!("{}^{{tree}}", branch.reference());
        let hash = self.call(&["rev-parse", "--verify", "--end-of-options", &name]).line()?;
        TreeId::new(&hash).map_err(|refusal| GitError::Failed {
            what: "rev-parse".into(),
            words: refusal.to_string(),
        })
    }

    /// Whether the history of a commit contains another, which may not exist any more.
    pub(crate) fn contains(&self, tip: &CommitId, commit: &CommitId) -> Result<bool, GitError> {
        let exists = self.call(&["cat-file", "-e", &format!("{commit}^{{commit}}")]).answer()?;
        Ok(exists.code == Some(0) && self.is_in(commit, tip)?)
    }

    /// Returns the operation that is in progress here.
    pub fn operation(&self) -> Option<GitOperation> {
        let begun =
            |(file, _): &&(&str, GitOperation)| self.git_dir.join(file).symlink_metadata().is_ok();
        GitOperation::FILES.iter().find(begun).map(|(_, operation)| *operation)
    }

    /// Whether one commit is an ancestor of another, or the same.
    pub fn is_in(&self, old: &CommitId, new: &CommitId) -> Result<bool, GitError> {
        let call = self.call(&["merge-base", "--is-ancestor", old.as_str(), new.as_str()]);
        let answer = call.answer()?;
        match answer.code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            _ => Err(answer.refusal()),
        }
    }
}

/// Parses a commit id that git printed.
pub(super) fn commit(output: &[u8]) -> Result<CommitId, GitError> {
    let text = String::from_utf8_lossy(output);
    CommitId::new(text.trim()).map_err(|refusal| GitError::Failed {
        what: "rev-parse".into(),
        words: refusal.to_string(),
    })
}

//! A throw-away repository of a person, with a home of its own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use omx_kernel::{Dialect, RunId, Timestamp};
use omx_runs::git::{BranchName, Checkout, CommitId, Git, GitLimits, GitLocation, Head};
use tempfile::TempDir;

/// Names that have broken many a program.
pub const NAMES: [&str; 5] = ["plain.txt", "with space", "line\nbreak", "ümläut-😀", "-rf"];

pub struct GitFixture {
    pub folder: TempDir,
    pub environment: BTreeMap<OsString, OsString>,
}

impl GitFixture {
    /// A repository with one commit and a person who has a name.
    pub fn new() -> Self {
        let stage = Self::empty();
        stage.git(&["config", "user.name", "A Person"]);
        stage.git(&["config", "user.email", "person@example.com"]);
        for name in NAMES {
            stage.write(name, "one\ntwo\nthree\n");
        }
        stage.write(".gitignore", "ignored\n*.log\n");
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "--quiet", "-m", "first"]);
        stage
    }

    /// A repository without a commit, of somebody git does not know.
    pub fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "scratch", "project \n ä"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        // Without this git makes a name up where the machine has a full one.
        let config =
            "[user]\n\tuseConfigOnly = true\n[init]\n\tdefaultBranch = main\n\ttemplateDir =\n";
        fs::write(folder.path().join("home/.gitconfig"), config).unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment = BTreeMap::from([
            ("PATH".into(), path),
            ("HOME".into(), folder.path().join("home").into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ]);
        let stage = Self { folder, environment };
        stage.git(&["init", "--quiet"]);
        stage
    }

    pub fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap().join("project \n ä")
    }

    pub fn scratch(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    /// git as omx calls it.
    pub fn omx_git(&self) -> Git {
        self.omx_git_within(GitLimits::default())
    }

    pub fn omx_git_within(&self, limits: GitLimits) -> Git {
        Git::new("git".into(), &self.environment, self.scratch(), limits)
    }

    /// The person's checkout.
    #[track_caller]
    pub fn checkout(&self) -> Checkout {
        checkout(&self.omx_git(), &self.root())
    }

    /// git as the person calls it.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        self.git_in(&self.root(), args)
    }

    #[track_caller]
    pub fn git_in(&self, folder: &Path, args: &[&str]) -> String {
        let output = self.command(folder, args).output().expect("apt-get install git");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub fn command(&self, folder: &Path, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.args(args).current_dir(folder).env_clear().envs(&self.environment);
        command.stdin(Stdio::null());
        command
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        write(&self.root(), name, text)
    }

    /// Writes a file and commits it on what is checked out.
    pub fn commit(&self, name: &str, text: &str) {
        self.write(name, text);
        self.git(&["add", "-A"]);
        self.git(&["commit", "--quiet", "-m", "more"]);
    }

    /// A hook of the person's.
    pub fn hook(&self, name: &str, script: &str) {
        program(&self.root().join(".git/hooks").join(name), script);
    }

    /// The worktree of a run, with a branch that begins at the last commit.
    #[track_caller]
    pub fn worktree(&self, number: u8) -> Checkout {
        let path = self.worktree_path(number);
        self.checkout().add_worktree(&path, &branch(number), &self.last()).unwrap().checkout
    }

    pub fn worktree_path(&self, number: u8) -> PathBuf {
        let folder = self.root().join(".omx/worktrees/run");
        fs::create_dir_all(&folder).unwrap();
        fs::write(self.root().join(".omx/.gitignore"), "*\n").unwrap();
        folder.join(run(number).as_str())
    }

    /// A run that wrote and committed a file on its branch.
    #[track_caller]
    pub fn run_that_wrote(&self, number: u8, name: &str, text: &str) -> Checkout {
        let worktree = self.worktree(number);
        write(worktree.top(), name, text);
        worktree.commit_all(&branch(number), "the run's work").unwrap();
        worktree
    }

    /// The last commit of what is checked out.
    #[track_caller]
    pub fn last(&self) -> CommitId {
        match self.checkout().head().unwrap() {
            Head::Branch { commit, .. } | Head::Detached(commit) => commit,
            Head::Unborn => panic!("no commit"),
        }
    }

    /// Everything of the person's, to the byte and to the moment: the files,
    /// the index, what is checked out, the branches. Not git's store of
    /// objects, nor omx's own folder.
    pub fn persons(&self) -> UserFiles {
        let mut found = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut found);
        UserFiles(found)
    }
}

/// A state of everything of the person's.
pub struct UserFiles(BTreeMap<PathBuf, Vec<u8>>);

impl UserFiles {
    /// Fails with the names of what changed since.
    #[track_caller]
    pub fn unchanged_in(&self, stage: &GitFixture, why: &dyn std::fmt::Display) {
        let now = stage.persons().0;
        let names = self.0.keys().chain(now.keys());
        let changed: Vec<&PathBuf> =
            names.filter(|name| self.0.get(*name) != now.get(*name)).collect();
        assert!(changed.is_empty(), "{why}: changed {changed:?}");
    }
}

fn collect(folder: &Path, root: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_owned();
        let omitted = [".omx", ".git/objects", ".git/worktrees", ".git/logs/refs/heads/omx-run"];
        let is_runs = name.starts_with(".git/refs/heads/omx-run");
        if omitted.iter().any(|place| name == Path::new(place)) || is_runs {
            continue;
        }
        let data = path.symlink_metadata().unwrap();
        if data.is_dir() {
            collect(&path, root, found);
            continue;
        }
        let content = if data.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        let moment =
            format!("{:o} {} {}.{} ", data.mode(), data.ino(), data.mtime(), data.mtime_nsec());
        found.insert(name, [moment.into_bytes(), content].concat());
    }
}

/// Makes a program of a script. It is written by another process: one that is
/// open for writing here, be it in a child just forked, cannot be started.
pub fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let text = tempfile::NamedTempFile::new().unwrap();
    fs::write(text.path(), format!("#!/bin/sh\n{script}\n")).unwrap();
    let copied = Command::new("cp").arg(text.path()).arg(path).status().unwrap();
    assert!(copied.success());
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[track_caller]
pub fn checkout(git: &Git, folder: &Path) -> Checkout {
    match git.locate(folder).unwrap() {
        GitLocation::Checkout(checkout) => checkout,
        other => panic!("{other:?}"),
    }
}

pub fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

pub fn run(number: u8) -> RunId {
    RunId::from_parts(Timestamp::from_millis(1_794_000_000_000), [number; 10])
}

pub fn branch(number: u8) -> BranchName {
    BranchName::of_run(&Dialect::OMX, &run(number))
}

/// Limits under which a hook that sleeps is stopped.
pub fn short() -> GitLimits {
    GitLimits { look: Duration::from_secs(60), work: Duration::from_secs(1) }
}

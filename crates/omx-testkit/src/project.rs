//! A throw-away project with its own home, and the program run in it with a
//! clean environment.

use std::fs;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use serde_json::Value;
use tempfile::{NamedTempFile, TempDir};

use crate::mcp::McpClient;
use crate::run::CommandOutcome;

/// A temporary folder tree: `home/` and `project/`.
#[derive(Debug)]
pub struct TestProject {
    folder: TempDir,
    binary: PathBuf,
    _shared: SharedFolder,
}

/// Keeps the one folder of the program that no variable moves. If it came and went with
/// other tests, the same command would make other system calls from one time to the next.
#[derive(Debug)]
struct SharedFolder {
    path: PathBuf,
    kept: Option<NamedTempFile>,
}

impl SharedFolder {
    fn keep() -> Self {
        let path = PathBuf::from(format!("/tmp/omx-{}-cancelled", geteuid().as_raw()));
        let kept = loop {
            // Another test may remove the folder in between.
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
            match made.and_then(|()| NamedTempFile::new_in(&path)) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                kept => break kept.unwrap(),
            }
        };
        Self { path, kept: Some(kept) }
    }
}

impl Drop for SharedFolder {
    fn drop(&mut self) {
        self.kept = None;
        let _ = fs::remove_dir(&self.path);
    }
}

impl TestProject {
    /// A new project, outside git, for this binary.
    pub fn new(binary: impl AsRef<Path>) -> Self {
        Self::below(&std::env::temp_dir(), binary)
    }

    /// The same in memory, where the machine has a folder for that: for tests
    /// that only kill, and flush thousands of times. A kill loses nothing that
    /// was written, whether it is on a disk or not.
    pub fn in_memory(binary: impl AsRef<Path>) -> Self {
        let memory = Path::new("/dev/shm");
        let usable = tempfile::tempdir_in(memory).is_ok();
        if usable { Self::below(memory, binary) } else { Self::new(binary) }
    }

    fn below(parent: &Path, binary: impl AsRef<Path>) -> Self {
        let folder = tempfile::Builder::new().prefix("omx-test-").tempdir_in(parent).unwrap();
        // The folder above must not look open to all, as /tmp does.
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder, binary: binary.as_ref().to_owned(), _shared: SharedFolder::keep() }
    }

    /// The folder that holds everything of this test.
    pub fn folder(&self) -> PathBuf {
        fs::canonicalize(self.folder.path()).unwrap()
    }

    /// The project's root.
    pub fn root(&self) -> PathBuf {
        self.folder().join("project")
    }

    /// The home directory programs of this test see.
    pub fn home(&self) -> PathBuf {
        self.folder().join("home")
    }

    /// The program under test.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// A path inside the state root.
    pub fn state(&self, name: &str) -> PathBuf {
        self.root().join(".omx/state").join(name)
    }

    /// A path inside a session's folder.
    pub fn session(&self, session: &str, name: &str) -> PathBuf {
        self.state("sessions").join(session).join(name)
    }

    /// Writes a file below the project's root, with its folders.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Reads a file as text.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.root().join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Every file and folder below the project's tree with its content:
    /// equal maps mean that not a byte changed.
    pub fn bytes(&self, below: &str) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
        let mut found = std::collections::BTreeMap::new();
        collect(&self.root().join(below), &mut found);
        found
    }

    /// Makes the project a git repository.
    pub fn git(&self) -> &Self {
        self.run_git(&["init", "--quiet", "--initial-branch=main"]);
        self
    }

    /// Runs git in the project.
    pub fn run_git(&self, args: &[&str]) -> CommandOutcome {
        let output = self.command("git").args(args).output().expect("git runs");
        assert!(output.status.success(), "git {args:?}: {output:?}");
        output.into()
    }

    /// A command in the project with a clean environment.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "t")
            .env("GIT_AUTHOR_EMAIL", "t@example.invalid")
            .env("GIT_COMMITTER_NAME", "t")
            .env("GIT_COMMITTER_EMAIL", "t@example.invalid")
            .stdin(Stdio::null());
        command
    }

    /// The program with these arguments, not yet started.
    pub fn omx_command(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.binary);
        command.args(args);
        command
    }

    /// Runs the program.
    pub fn omx(&self, args: &[&str]) -> CommandOutcome {
        self.omx_command(args).output().expect("omx runs").into()
    }

    /// Runs the program with environment variables.
    pub fn omx_env(&self, args: &[&str], variables: &[(&str, &str)]) -> CommandOutcome {
        let mut command = self.omx_command(args);
        command.envs(variables.iter().copied());
        command.output().expect("omx runs").into()
    }

    /// Runs the program with something on its standard input.
    pub fn omx_stdin(&self, args: &[&str], stdin: &[u8]) -> CommandOutcome {
        let mut child = self
            .omx_command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("omx runs");
        // A program that answers before it has read everything closes the pipe.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().expect("omx ends").into()
    }

    /// `omx state OPERATION --input … --json`
    pub fn state_op(&self, operation: &str, input: &Value) -> CommandOutcome {
        self.omx(&["state", operation, "--input", &input.to_string(), "--json"])
    }

    /// A write that must succeed.
    #[track_caller]
    pub fn put(&self, input: Value) -> Value {
        self.state_op("write", &input).ok()
    }

    /// The stored document of a mode, outside any session.
    #[track_caller]
    pub fn document(&self, mode: &str) -> Value {
        serde_json::from_str(&self.read(self.state(&format!("{mode}-state.json")))).unwrap()
    }

    /// The stored document of a mode in a session.
    #[track_caller]
    pub fn session_document(&self, session: &str, mode: &str) -> Value {
        let path = self.session(session, &format!("{mode}-state.json"));
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// A running MCP server of this project.
    pub fn mcp(&self) -> McpClient {
        McpClient::start(self.omx_command(&["mcp"]))
    }
}

fn collect(path: &Path, found: &mut std::collections::BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(data) = fs::symlink_metadata(path) else { return };
    if data.is_dir() {
        found.insert(path.to_owned(), Vec::new());
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    } else if data.is_symlink() {
        let target = fs::read_link(path).unwrap();
        found.insert(path.to_owned(), target.as_os_str().as_encoded_bytes().to_vec());
    } else if data.is_file() {
        found.insert(path.to_owned(), fs::read(path).unwrap());
    } else {
        found.insert(path.to_owned(), b"special".to_vec());
    }
}

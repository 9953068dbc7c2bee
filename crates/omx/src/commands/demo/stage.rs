//! The demo's throwaway repository, and the commands that run in it.

use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omx_kernel::Dialect;

use super::stop::{Commands, DemoOutput};
use crate::children;

const SCENARIO: &str = include_str!("../../../../../assets/demo/scenario.toml");
const CHECK: &str = include_str!("../../../../../assets/demo/check.sh");
const README: &str = include_str!("../../../../../assets/demo/README.md");

/// How long terminating processes may keep writing to the folder.
const CLEANUP: Duration = Duration::from_secs(5);

/// The demo's folder. Dropping it removes the folder.
pub(super) struct Stage {
    program: PathBuf,
    folder: PathBuf,
    commands: Commands,
}

impl Stage {
    /// Creates the folder.
    pub(super) fn create(commands: Commands) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let folder = std::env::temp_dir().join(format!("omx-demo-{:016x}", random()));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self { program, folder, commands })
    }

    /// Creates the repository and returns the id of its first commit.
    pub(super) fn create_repository(&self, scenario: Option<&Path>) -> Result<String, String> {
        let project = self.path("project");
        let text = match scenario {
            None => SCENARIO.to_owned(),
            Some(file) => {
                fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
            }
        };
        let write = |path: PathBuf, text: &str| {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        fs::create_dir(&project).map_err(|error| format!("{}: {error}", project.display()))?;
        write(self.path("scenario.toml"), &text)?;
        write(project.join("check.sh"), CHECK)?;
        write(project.join("README.md"), README)?;
        for args in [
            &["init", "--quiet", "--initial-branch=main"][..],
            &["add", "--all"],
            &["commit", "--quiet", "--message=start"],
        ] {
            self.git(args)?.expect_exit(0, &format!("git {}", args.join(" ")))?;
        }
        self.head()
    }

    /// The scenario to play.
    pub(super) fn scenario(&self) -> String {
        self.path("scenario.toml").display().to_string()
    }

    /// The checked-out commit.
    pub(super) fn head(&self) -> Result<String, String> {
        Ok(self.git(&["rev-parse", "HEAD"])?.text)
    }

    /// Runs git and captures its output.
    pub(super) fn git(&self, args: &[&str]) -> Result<DemoOutput, String> {
        self.run("git", args, Stdio::piped())
    }

    /// Runs this program.
    pub(super) fn omx(&self, args: &[&str], output: Stdio) -> Result<DemoOutput, String> {
        self.run(&self.program, args, output)
    }

    /// Runs a program in the project with a temporary home directory, so that it
    /// neither reads nor changes the person's configuration.
    pub(super) fn run(
        &self,
        program: impl AsRef<std::ffi::OsStr>,
        args: &[&str],
        output: Stdio,
    ) -> Result<DemoOutput, String> {
        let mut command = Command::new(program);
        command.args(args).current_dir(self.path("project"));
        for (name, folder) in
            [("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"), ("HOME", "home")]
        {
            command.env(name, self.path(folder));
        }
        children::forget(&mut command);
        forget_settings(&mut command);
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        for (name, value) in [("NAME", "demo"), ("EMAIL", "demo@localhost")] {
            command.env(format!("GIT_AUTHOR_{name}"), value);
            command.env(format!("GIT_COMMITTER_{name}"), value);
        }
        let name = command.get_program().to_string_lossy().into_owned();
        self.commands.run(command, output).map_err(|error| format!("cannot run {name}: {error}"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// Removes the person's own settings: a root or a state folder of theirs would take
/// the demo's run into their project.
fn forget_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let is_setting =
            |dialect: &Dialect| name.as_encoded_bytes().starts_with(dialect.env_prefix.as_bytes());
        if Dialect::ALL.iter().any(is_setting) {
            command.env_remove(&name);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let deadline = Instant::now() + CLEANUP;
        while fs::remove_dir_all(&self.folder).is_err()
            && self.folder.exists()
            && Instant::now() < deadline
        {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl DemoOutput {
    /// Checks the exit code.
    pub(super) fn expect_exit(self, code: i32, what: &str) -> Result<Self, String> {
        match self.code {
            Some(found) if found == code => Ok(self),
            Some(found) => Err(format!("{what} exited with {found} instead of {code}")),
            None => Err(format!("{what} was killed by a signal")),
        }
    }
}

/// An unpredictable number, for a name in a world-writable folder.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

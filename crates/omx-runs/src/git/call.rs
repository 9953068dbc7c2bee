//! Calls git with explicit arguments, a controlled environment and a deadline.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use omx_kernel::environment::is_for_git;
use omx_process::{
    CommandLimits, FileRules, KeptOutput, Leftovers, confine_command, run_with_deadline,
};

use super::error::GitError;
use super::scratch::ScratchFile;
use super::settings::GitSettings;

/// Settings that keep git from executing what a repository names, from prompting, from
/// trusting caches about what changed, and from leaving background processes.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.safecrlf=false",
    "core.quotePath=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Turns all installed hooks off.
const NO_HOOKS: &str = "core.hooksPath=/dev/null";

/// Variables with the values of overrides. Unlike `-c`, `--config-env` takes names that
/// contain an equals sign.
const EMPTY: &str = "GIT_OVERRIDE_EMPTY";
const FALSE: &str = "GIT_OVERRIDE_FALSE";
const HOOKS: &str = "GIT_OVERRIDE_HOOKS";

/// The most output to read, far more than any list of files needs.
const MOST_OUTPUT: usize = 256 << 20;

/// How much of the end of standard error to keep.
const MAX_STDERR: usize = 16 << 10;
/// How long git may take to remove its lock files after SIGTERM.
const TERMINATION_GRACE: Duration = Duration::from_secs(2);
/// How long to read output after git has exited. A background process of a hook may
/// keep the pipe open forever.
const OUTPUT_DRAIN: Duration = Duration::from_millis(300);

/// Deadlines for git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GitLimits {
    /// For read-only calls.
    pub look: Duration,
    /// For calls that fill a worktree or run the person's hooks.
    pub work: Duration,
}

impl Default for GitLimits {
    fn default() -> Self {
        Self { look: Duration::from_secs(120), work: Duration::from_secs(15 * 60) }
    }
}

/// git with its program, environment, limits and scratch folder.
#[derive(Clone, Debug)]
pub struct Git {
    setup: Arc<GitSetup>,
}

#[derive(Debug)]
struct GitSetup {
    program: PathBuf,
    environment: BTreeMap<OsString, OsString>,
    scratch: PathBuf,
    limits: GitLimits,
}

impl Git {
    /// Wraps this git program for this environment, which is already reduced to what other
    /// programs may see. `scratch` is a
    /// folder outside every worktree that only omx writes to.
    pub fn new(
        program: PathBuf,
        environment: &BTreeMap<OsString, OsString>,
        scratch: PathBuf,
        limits: GitLimits,
    ) -> Self {
        let is_kept = |name: &OsStr| {
            let name = name.to_string_lossy();
            let is_language = matches!(&*name, "LANGUAGE" | "LANG") || name.starts_with("LC_");
            let is_redirecting = name.starts_with("GIT_") && !is_for_git(&name);
            !(is_redirecting || is_language)
        };
        let own = environment.iter().filter(|(name, _)| is_kept(name));
        let mut environment: BTreeMap<OsString, OsString> =
            own.map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, value) in [
            ("LC_ALL", "C.UTF-8"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // Read-only calls must not refresh the index on disk.
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", "true"),
            ("GIT_SEQUENCE_EDITOR", "true"),
            ("GIT_PAGER", "cat"),
            ("GIT_MERGE_AUTOEDIT", "no"),
        ] {
            environment.insert(name.into(), value.into());
        }
        Self { setup: Arc::new(GitSetup { program, environment, scratch, limits }) }
    }

    /// The person's home directory.
    pub(super) fn home(&self) -> Option<&Path> {
        self.setup.environment.get(OsStr::new("HOME")).map(Path::new)
    }

    /// The folder for temporary files.
    pub(super) fn scratch(&self) -> &Path {
        &self.setup.scratch
    }

    /// Prepares a call in a folder.
    pub(super) fn call(&self, folder: &Path, args: &[&str]) -> Call<'_> {
        Call {
            git: &self.setup,
            folder: folder.to_owned(),
            settings: vec![NO_HOOKS],
            overrides: Vec::new(),
            input: Vec::new(),
            args: args.iter().map(OsString::from).collect(),
            environment: Vec::new(),
            deadline: self.setup.limits.look,
            keep: MOST_OUTPUT,
            trace: None,
            writable: None,
        }
    }
}

/// A prepared call of git.
pub(super) struct Call<'a> {
    git: &'a GitSetup,
    folder: PathBuf,
    settings: Vec<&'static str>,
    overrides: Vec<String>,
    input: Vec<u8>,
    args: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
    deadline: Duration,
    keep: usize,
    trace: Option<ScratchFile>,
    writable: Option<Vec<PathBuf>>,
}

/// The outcome of a call.
#[derive(Debug)]
pub(super) struct Answer {
    /// The exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output, up to the limit to keep.
    pub output: Vec<u8>,
    /// The full length of standard output.
    pub output_length: usize,
    /// The end of standard error.
    pub words: String,
    what: String,
    folder: PathBuf,
}

impl Call<'_> {
    /// Adds an argument.
    pub(super) fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds a setting for this call.
    pub(super) fn set(mut self, setting: &'static str) -> Self {
        self.settings.push(setting);
        self
    }

    /// Sets a variable for this call.
    pub(super) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Confines this call, and whatever it starts, to changes of these paths and of the
    /// scratch folder, where the kernel can do that. Nothing that an agent wrote is meant to
    /// be executed by git; this holds if something is all the same.
    pub(super) fn writing(mut self, paths: Vec<PathBuf>) -> Self {
        self.writable = Some(paths);
        self
    }

    /// Lets this call change whatever the person can: it runs a program of theirs.
    pub(super) fn unconfined(mut self) -> Self {
        self.writable = None;
        self
    }

    /// Lets this call run the hooks of a folder, which are the person's.
    pub(super) fn with_hooks(mut self, folder: &Path) -> Self {
        self.writable = None;
        self.settings.retain(|setting| *setting != NO_HOOKS);
        self.overrides.push(format!("--config-env=core.hooksPath={HOOKS}"));
        self.env(HOOKS, folder)
    }

    /// Turns off the programs that these settings name and omx does not know.
    pub(super) fn overriding(mut self, settings: &GitSettings) -> Self {
        let flag = |(key, value): (String, &str)| {
            let variable = if value.is_empty() { EMPTY } else { FALSE };
            format!("--config-env={key}={variable}")
        };
        self.overrides = settings.overrides().into_iter().map(flag).collect();
        self.env(EMPTY, "").env(FALSE, "false")
    }

    /// Makes git flush the objects, the index and the references that it writes.
    pub(super) fn durable(self) -> Self {
        self.set("core.fsync=added,reference").set("core.fsyncMethod=fsync")
    }

    /// Sets the text of standard input.
    pub(super) fn input(mut self, input: Vec<u8>) -> Self {
        self.input = input;
        self
    }

    /// Allows the time it takes to fill a worktree or run a hook, and records in the
    /// scratch folder that the call is running.
    pub(super) fn work(mut self) -> Self {
        let trace = ScratchFile::new(&self.git.scratch, "trace");
        self.environment.push(("GIT_TRACE2_EVENT", trace.path().into()));
        self.trace = Some(trace);
        self.deadline = self.git.limits.work;
        self
    }

    /// Keeps at most this many bytes of the output.
    pub(super) fn keep(mut self, bytes: usize) -> Self {
        self.keep = bytes;
        self
    }

    /// Runs the call. A non-zero exit code is an answer, not an error.
    pub(super) fn answer(self) -> Result<Answer, GitError> {
        let what = self.args.first().map(|word| word.to_string_lossy().into_owned());
        let what = what.unwrap_or_default();
        let mut command = Command::new(&self.git.program);
        command.arg("-C").arg(&self.folder).arg("--no-pager");
        for setting in SETTINGS.iter().chain(&self.settings) {
            command.args(["-c", setting]);
        }
        command.args(&self.overrides);
        command.args(&self.args).env_clear().envs(&self.git.environment).envs(self.environment);
        if let Some(mut paths) = self.writable {
            paths.push(self.git.scratch.clone());
            paths.retain(|path| path.exists());
            // Without Landlock, the settings above are what keeps git from executing anything.
            let _ = confine_command(&mut command, &FileRules::writing(paths));
        }
        let limits = CommandLimits {
            deadline: self.deadline,
            grace: TERMINATION_GRACE,
            drain: OUTPUT_DRAIN,
            stdout: KeptOutput::First(self.keep),
            stderr: KeptOutput::Last(MAX_STDERR),
            leftovers: Leftovers::Keep,
        };
        let output = run_with_deadline(&mut command, &self.input, limits).map_err(|error| {
            let program = self.git.program.clone();
            match error.kind() {
                std::io::ErrorKind::NotFound => GitError::NotInstalled { program },
                _ => GitError::io("run", &program, error),
            }
        })?;
        let Some(status) = output.status else {
            return Err(GitError::TimedOut { what, after: self.deadline });
        };
        let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if let (Some(trace), None) = (self.trace, status.code()) {
            // git was killed. The trace says which lock files are its own.
            trace.keep();
        }
        Ok(Answer {
            code: status.code(),
            output: output.stdout,
            output_length: output.stdout_length,
            words,
            what,
            folder: self.folder,
        })
    }

    /// Runs a call that must succeed and returns its output.
    pub(super) fn output(self) -> Result<Vec<u8>, GitError> {
        let answer = self.answer()?;
        if answer.code == Some(0) { Ok(answer.output) } else { Err(answer.refusal()) }
    }

    /// The same for output that is one line of text.
    pub(super) fn line(self) -> Result<String, GitError> {
        self.output().map(|output| String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// The same for output that is one path; strips only the final newline.
    pub(super) fn path(self) -> Result<PathBuf, GitError> {
        self.output().map(|mut output| {
            if output.last() == Some(&b'\n') {
                output.pop();
            }
            OsString::from_vec(output).into()
        })
    }
}

impl Answer {
    /// The error for a call that git refused.
    pub(super) fn refusal(self) -> GitError {
        GitError::explain(self.what, &self.folder, &self.words)
    }
}

/// Splits output whose parts each end with a zero byte.
pub(super) fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// A path as git printed it.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}

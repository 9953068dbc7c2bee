//! The project's own check: found where it is obvious, and run by omx itself.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use omx_process::guard::GuardCommand;
use omx_process::{GuardedExit, GuardedRun, Launch};

use crate::workflow::CheckResult;

/// How much of a check's output is kept in the journal.
const TAIL: u64 = 16 << 10;
/// How long a check may take.
pub const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// A check to run.
#[derive(Debug)]
pub struct CheckRun<'a> {
    /// The person's own command line.
    pub command: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where its output goes.
    pub log: PathBuf,
    /// This program, which guards it.
    pub omx: &'a Path,
    /// How long it may take.
    pub patience: Duration,
}

impl CheckRun<'_> {
    /// Runs the check until it and everything it started are gone. The command is
    /// the person's and goes to a shell; all of its output goes to the log.
    pub fn run(self, stop: &AtomicBool) -> Result<CheckResult, String> {
        let script = "exec >\"$0\" 2>&1 </dev/null; eval \"$1\"";
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into(), self.log.clone().into(), self.command.into()],
            environment: self.environment,
            folder: self.folder.to_owned(),
        };
        let run = GuardedRun {
            launch: &launch,
            guard_program: self.omx,
            deadline: self.patience,
            keep_stdout: 0,
            at_deadline: GuardCommand::Terminate,
        };
        let ended =
            run.run(stop).map_err(|error| format!("the check could not be run: {error}"))?;
        let mut output = tail(&self.log);
        let exit_code = match ended.exit {
            GuardedExit::Exited(code) => code,
            GuardedExit::TimedOut => {
                output.push_str("\n(it took too long and was ended)");
                None
            }
            GuardedExit::Stopped => return Err("the check was stopped".to_owned()),
        };
        Ok(CheckResult { command: self.command.to_owned(), exit_code, output })
    }
}

/// The end of a log, from the beginning of a line on.
fn tail(log: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = fs::File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        if length > TAIL {
            let cut = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            bytes.drain(..cut);
        }
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// The command that checks a project, where its files make it obvious.
pub fn find(folder: &Path) -> Option<String> {
    let has = |name: &str| folder.join(name).is_file();
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    if has("Cargo.toml") {
        return Some("cargo test".to_owned());
    }
    if has("go.mod") {
        return Some("go test ./...".to_owned());
    }
    if npm_has_tests(&text("package.json")) {
        return Some("npm test".to_owned());
    }
    let python = ["pytest.ini", "conftest.py", "tests/conftest.py"].into_iter().any(has)
        || text("pyproject.toml").contains("[tool.pytest");
    if python {
        return Some("pytest".to_owned());
    }
    let makefile = text("Makefile");
    let target = |name: &str| makefile.lines().any(|line| line.starts_with(&format!("{name}:")));
    ["check", "test"].into_iter().find(|name| target(name)).map(|name| format!("make {name}"))
}

/// A script that is not the one npm puts there to say that there is none.
fn npm_has_tests(package: &str) -> bool {
    let package: serde_json::Value = serde_json::from_str(package).unwrap_or_default();
    let script = package["scripts"]["test"].as_str().unwrap_or_default();
    !script.is_empty() && !script.contains("no test specified")
}

//! Runs the project's own check.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use omx_process::guard::GuardCommand;
use omx_process::{Confinement, GuardedExit, GuardedRun, Launch};

use omx_store::runs::StepLog;

use crate::engine::JobFailure;
use crate::workflow::CheckResult;

/// How much of a check's output is kept in the journal.
const TAIL: usize = 16 << 10;

/// A check to run.
#[derive(Debug)]
pub struct CheckRun<'a> {
    /// The person's own command line.
    pub command: &'a str,
    /// Where it runs.
    pub folder: &'a Path,
    /// Its whole environment.
    pub environment: BTreeMap<OsString, OsString>,
    /// Which files it may change and read.
    pub confinement: Confinement,
    /// Where its output goes.
    pub log: StepLog,
    /// The variable of the environment that marks the check's processes.
    pub mark: &'a str,
    /// This program, which guards the check.
    pub omx: &'a Path,
    /// How long it may take.
    pub patience: Duration,
}

impl CheckRun<'_> {
    /// Runs the check until it and everything it started have exited. The command is
    /// the person's own and goes to a shell; the log keeps the beginning and the end of its output.
    pub fn run(mut self, stop: &AtomicBool) -> Result<CheckResult, JobFailure> {
        let script = "exec 2>&1 </dev/null; eval \"$0\"";
        let launch = Launch {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into(), self.command.into()],
            environment: self.environment,
            folder: self.folder.to_owned(),
            confinement: self.confinement,
        };
        let run = GuardedRun {
            launch: &launch,
            guard_program: self.omx,
            deadline: self.patience,
            keep_stdout: 0,
            at_deadline: GuardCommand::Terminate,
            mark: self.mark,
        };
        let ended = run
            .run_reading(stop, |bytes| self.log.add(bytes))
            .map_err(|error| JobFailure::Failed(format!("the check could not be run: {error}")))?;
        let mut output = tail(&self.log);
        // The log is for people; the result does not depend on it.
        let _ = self.log.finish();
        let exit_code = match ended.exit {
            GuardedExit::Exited(code) => code,
            GuardedExit::TimedOut => {
                output.push_str("\n(timed out and was terminated)");
                None
            }
            GuardedExit::Stopped => return Err(interrupted("it was stopped")),
            GuardedExit::GuardKilled(0) => return Err(interrupted("its guard was killed")),
            GuardedExit::GuardKilled(left) => {
                let why = format!("its guard was killed, and {left} of its processes still run");
                return Err(interrupted(&why));
            }
        };
        Ok(CheckResult { command: self.command.to_owned(), exit_code, output })
    }
}

/// A check that did not run to its end says nothing about the work.
fn interrupted(why: &str) -> JobFailure {
    JobFailure::Interrupted(format!("the check was interrupted: {why}"))
}

/// The end of a log, starting at a line.
fn tail(log: &StepLog) -> String {
    let mut bytes = log.last(TAIL);
    if log.written() > TAIL as u64 {
        let cut = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes = bytes.get(cut..).unwrap_or_default();
    }
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}

//! The installed version of an agent's program, as the program reports it.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use omx_process::guard::GuardCommand;
use omx_process::{GuardedExit, GuardedRun};

use crate::driver::{AgentEnv, AgentInstallation, AgentKind};
use crate::environment::agent_environment;
use crate::failure::{Failure, FailureCause};
use crate::protocol::{Confinement, Launch};

/// How much of the program's answer is read.
const MAX_ANSWER: usize = 64 << 10;

/// Runs the program with its version flag and returns the first word that begins
/// with a digit. The rehearsal agent has omx's own version.
pub fn version(
    installation: &AgentInstallation,
    env: &AgentEnv,
    patience: Duration,
) -> Result<String, Failure> {
    let kind = installation.kind;
    let argument = match kind {
        AgentKind::Rehearsal => "version",
        AgentKind::Codex | AgentKind::Claude | AgentKind::Gemini => "--version",
    };
    let mark = format!("version-{}", uuid::Uuid::new_v4());
    let launch = Launch {
        program: installation.program.clone(),
        args: vec![argument.into()],
        environment: agent_environment(env, &[], &[], &mark),
        folder: "/".into(),
        confinement: Confinement::Unconfined,
    };
    let failure = |cause| Failure::new(kind, cause);
    let run = GuardedRun {
        launch: &launch,
        guard_program: &env.omx,
        deadline: patience,
        keep_stdout: MAX_ANSWER,
        at_deadline: GuardCommand::Kill,
        mark: &env.worker_variable,
    };
    let output = run
        .run(&AtomicBool::new(false))
        .map_err(|error| failure(FailureCause::CannotStart { detail: error.to_string() }))?;
    if output.exit == GuardedExit::TimedOut {
        let during = "printing its version";
        return Err(failure(FailureCause::Silent { waited: patience, during }));
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
    let found = answer.split_whitespace().find(is_version).map(str::to_owned);
    let first_line = || answer.lines().find(|line| !line.is_empty()).unwrap_or_default().to_owned();
    found.ok_or_else(|| failure(FailureCause::Garbage { sample: first_line() }))
}

//! Which version of an agent's program is installed: the program is asked.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::driver::{AgentEnv, AgentKind, Installation};
use crate::environment::agent_environment;
use crate::failure::{Failure, FailureCause};
use crate::protocol::Launch;
use omx_process::guard::GuardCommand;
use omx_process::{GuardedProcess, ProcessEvent};

/// Asks a program for its version; the answer's first word that begins with a
/// digit. The rehearsal agent has omx's own.
pub fn version(
    installation: &Installation,
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
    };
    let failure = |cause| Failure::new(kind, cause);
    let (sender, noises) = channel();
    let tell = move |noise| {
        let _ = sender.send(noise);
    };
    let process = GuardedProcess::start(&launch, &env.omx, 4096, tell)
        .map_err(|error| failure(FailureCause::CannotStart { detail: error.to_string() }))?;
    process.close_input();
    let deadline = Instant::now() + patience;
    let mut found = None;
    let mut said = String::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match noises.recv_timeout(left) {
            Ok(ProcessEvent::Line(line)) => {
                let line = String::from_utf8_lossy(&line).into_owned();
                let numbered = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
                found = found.or_else(|| line.split_whitespace().find(numbered).map(str::to_owned));
                if said.is_empty() {
                    said = line;
                }
            }
            Ok(ProcessEvent::GuardGone) => break,
            Ok(_) => {}
            Err(_) => {
                process.command_guard(GuardCommand::Kill);
                process.reap();
                return Err(failure(FailureCause::Silent {
                    waited: patience,
                    during: "telling its version",
                }));
            }
        }
    }
    process.reap();
    found.ok_or_else(|| failure(FailureCause::Garbage { sample: said }))
}

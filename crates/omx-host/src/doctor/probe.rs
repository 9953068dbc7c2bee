//! Runs a program to see whether it works, and ends it whatever it does.

use std::process::Command;
use std::time::Duration;

use omx_process::{CommandLimits, KeptOutput, Leftovers, run_with_deadline};

/// How much of each stream is kept.
const MAX_OUTPUT: KeptOutput = KeptOutput::First(1024 * 1024);

/// How a probed program ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// It exited by itself: its exit code, standard output and standard error.
    Exited(Option<i32>, String, String),
    /// It did not exit in time.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
}

/// Runs a program with this input until it exits or the time is over. What it started and
/// left running is killed.
pub(super) fn run(mut command: Command, input: &[u8], deadline: Duration) -> Probe {
    let limits = CommandLimits {
        deadline,
        grace: Duration::ZERO,
        drain: deadline,
        stdout: MAX_OUTPUT,
        stderr: MAX_OUTPUT,
        leftovers: Leftovers::Kill,
    };
    match run_with_deadline(&mut command, input, limits) {
        Err(error) => Probe::NotStarted(error.to_string()),
        Ok(output) => match output.status {
            None => Probe::TimedOut,
            Some(status) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                Probe::Exited(status.code(), text(&output.stdout), text(&output.stderr))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn sh(script: &str, deadline: Duration) -> Probe {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, b"in", deadline)
    }

    #[test]
    fn a_program_that_exits_is_reported_and_one_that_does_not_is_killed() {
        let long = Duration::from_secs(30);
        let answer = Probe::Exited(Some(3), "in".to_owned(), "no\n".to_owned());
        assert_eq!(sh("cat; echo no >&2; exit 3", long), answer);
        let begin = Instant::now();
        assert_eq!(sh("sleep 60 & sleep 60", Duration::from_millis(50)), Probe::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(20));
        let missing = run(Command::new("/nonexistent/program"), b"", long);
        assert!(matches!(missing, Probe::NotStarted(_)));
    }
}

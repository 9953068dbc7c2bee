//! Running a program to see whether it works: with an end, whatever it does.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The most a program is listened to.
const MOST: u64 = 1024 * 1024;

/// How often an ended program is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// It ended by itself: its exit code and what it said.
    Exited(Option<i32>, String, String),
    /// It did not end in time.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
}

/// Runs a program with this input until it ends or the time is over. It gets a
/// group of its own, so that its children go with it.
pub(super) fn run(mut command: Command, input: &[u8], deadline: Duration) -> Probe {
    let begin = Instant::now();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Probe::NotStarted(error.to_string()),
    };
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let input = input.to_vec();
    // Threads end with the pipes, and these with the group.
    std::thread::spawn(move || stdin.map(|mut pipe| pipe.write_all(&input)));
    let (out, err) = (listen(stdout), listen(stderr));
    loop {
        match child.try_wait() {
            Ok(Some(status)) => {
                let left = deadline.saturating_sub(begin.elapsed()).max(LOOK);
                let said =
                    |from: mpsc::Receiver<String>| from.recv_timeout(left).unwrap_or_default();
                let trial = Probe::Exited(status.code(), said(out), said(err));
                end(&mut child);
                return trial;
            }
            Ok(None) if begin.elapsed() < deadline => std::thread::sleep(LOOK),
            _ => {
                end(&mut child);
                return Probe::TimedOut;
            }
        }
    }
}

fn listen(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = pipe.map(|pipe| pipe.take(MOST).read_to_end(&mut said));
        let _ = tell.send(String::from_utf8_lossy(&said).into_owned());
    });
    told
}

/// Ends a program and what it started.
pub(super) fn end(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, deadline: Duration) -> Probe {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, b"in", deadline)
    }

    #[test]
    fn a_program_that_ends_is_heard_and_one_that_does_not_is_ended() {
        let long = Duration::from_secs(30);
        let said = Probe::Exited(Some(3), "in".to_owned(), "no\n".to_owned());
        assert_eq!(sh("cat; echo no >&2; exit 3", long), said);
        let begin = Instant::now();
        assert_eq!(sh("sleep 60 & sleep 60", Duration::from_millis(50)), Probe::TimedOut);
        assert!(begin.elapsed() < Duration::from_secs(20));
        let missing = run(Command::new("/nonexistent/program"), b"", long);
        assert!(matches!(missing, Probe::NotStarted(_)));
    }
}

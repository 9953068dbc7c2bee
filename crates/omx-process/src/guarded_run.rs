//! A program of omx's own choosing, such as a project's check, run to its end
//! under guard: on time, and with nothing left of it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::guard::{GuardCommand, GuardReport};
use crate::guarded::{GuardedProcess, ProcessEvent};
use crate::launch::Launch;

/// How often somebody who wants it stopped is listened to.
const LISTEN: Duration = Duration::from_millis(50);

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardedExit {
    /// By itself, with this code; none after a signal.
    Exited(Option<i32>),
    /// It took too long and was ended.
    TimedOut,
    /// It was told to stop.
    Stopped,
}

/// Runs a program until it and everything it started are gone. What it prints
/// is not read: it is to be started with its output going elsewhere.
pub fn run_guarded(
    launch: &Launch,
    guard_program: &Path,
    patience: Duration,
    stop: &AtomicBool,
) -> std::io::Result<GuardedExit> {
    let (sender, noises) = channel();
    let tell = move |noise| {
        let _ = sender.send(noise);
    };
    let process = GuardedProcess::start(launch, guard_program, 64 << 10, tell)?;
    process.close_input();
    let deadline = Instant::now() + patience;
    let mut code = None;
    let mut early = None;
    loop {
        match noises.recv_timeout(LISTEN) {
            Ok(ProcessEvent::Guard(GuardReport::Exited(exit))) => code = exit,
            Ok(ProcessEvent::Guard(GuardReport::CannotStart(number))) => {
                return Err(std::io::Error::from_raw_os_error(number));
            }
            Ok(ProcessEvent::GuardGone) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(early.unwrap_or(GuardedExit::Exited(code)));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        let end = if stop.load(Ordering::Relaxed) {
            GuardedExit::Stopped
        } else if Instant::now() >= deadline {
            GuardedExit::TimedOut
        } else {
            continue;
        };
        if early.is_none() {
            early = Some(end);
            process.command_guard(GuardCommand::Terminate);
        }
    }
}

//! A program of omx's own choosing, such as a project's check, run to its end
//! under guard: on time, and with nothing left of it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::guard::wire::{Report, Word};
use crate::process::{Noise, Process};
use crate::protocol::Launch;

/// How often somebody who wants it stopped is listened to.
const LISTEN: Duration = Duration::from_millis(50);

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskEnd {
    /// By itself, with this code; none after a signal.
    Exited(Option<i32>),
    /// It took too long and was ended.
    TimedOut,
    /// It was told to stop.
    Stopped,
}

/// Runs a program until it and everything it started are gone. What it prints
/// is not read: it is to be started with its output going elsewhere.
pub fn run(
    launch: &Launch,
    omx: &Path,
    patience: Duration,
    stop: &AtomicBool,
) -> std::io::Result<TaskEnd> {
    let (sender, noises) = channel();
    let tell = move |noise| {
        let _ = sender.send(noise);
    };
    let process = Process::start(launch, omx, 64 << 10, tell)?;
    process.close_input();
    let deadline = Instant::now() + patience;
    let mut code = None;
    let mut early = None;
    loop {
        match noises.recv_timeout(LISTEN) {
            Ok(Noise::Guard(Report::Exited(exit))) => code = exit,
            Ok(Noise::Guard(Report::CannotStart(number))) => {
                return Err(std::io::Error::from_raw_os_error(number));
            }
            Ok(Noise::GuardGone) | Err(RecvTimeoutError::Disconnected) => {
                return Ok(early.unwrap_or(TaskEnd::Exited(code)));
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
        let end = if stop.load(Ordering::Relaxed) {
            TaskEnd::Stopped
        } else if Instant::now() >= deadline {
            TaskEnd::TimedOut
        } else {
            continue;
        };
        if early.is_none() {
            early = Some(end);
            process.tell_guard(Word::End);
        }
    }
}

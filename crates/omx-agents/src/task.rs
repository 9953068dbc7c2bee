//! A program of omx's own choosing, such as a project's check, run to its end
//! under guard: on time, and with nothing left of it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::guard::wire::{Report, Word};
use crate::process::{GUARD, Noise, Process, SWEEP};
use crate::protocol::Launch;

/// How often somebody who wants it stopped is listened to.
const LISTEN: Duration = Duration::from_millis(50);

/// The longest line that may stray into the pipe; it goes nowhere.
const LINE: usize = 1 << 20;

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
    let process = Process::start(launch, omx, LINE, tell)?;
    process.close_input();
    let end = Watch { process: &process, noises: &noises }.until_gone(patience, stop);
    if end.guard_says.is_none() {
        // It was killed, or does not answer; what it guarded may live.
        process.sweep(None, SWEEP);
    }
    process.bury();
    match end.guard_says {
        Some(Report::CannotStart(number)) => Err(std::io::Error::from_raw_os_error(number)),
        _ => Ok(end.early.unwrap_or(TaskEnd::Exited(end.code))),
    }
}

struct Watch<'a> {
    process: &'a Process,
    noises: &'a Receiver<Noise>,
}

/// What was seen of it.
#[derive(Default)]
struct Seen {
    code: Option<i32>,
    /// Why it was ended before its own end.
    early: Option<TaskEnd>,
    /// The guard's last word.
    guard_says: Option<Report>,
}

impl Watch<'_> {
    /// Waits until the guard is gone, or should be.
    fn until_gone(&self, patience: Duration, stop: &AtomicBool) -> Seen {
        let deadline = Instant::now() + patience;
        let mut seen = Seen::default();
        let mut guard_must_end = None;
        loop {
            match self.noises.recv_timeout(LISTEN) {
                Ok(Noise::Line(line) | Noise::Complaint(line)) => self.process.took(&line),
                Ok(Noise::Guard(Report::Exited(code))) => {
                    seen.code = code;
                    guard_must_end.get_or_insert(Instant::now() + GUARD);
                }
                Ok(Noise::Guard(Report::Running(_))) => {}
                Ok(Noise::Guard(report)) => seen.guard_says = Some(report),
                Ok(Noise::GuardGone) | Err(RecvTimeoutError::Disconnected) => return seen,
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            let now = Instant::now();
            let early = if stop.load(Ordering::Relaxed) {
                Some(TaskEnd::Stopped)
            } else {
                (now >= deadline).then_some(TaskEnd::TimedOut)
            };
            if guard_must_end.is_some_and(|moment| now >= moment) {
                return seen;
            }
            if guard_must_end.is_none() && early.is_some() {
                seen.early = early;
                guard_must_end = Some(now + GUARD);
                self.process.tell_guard(Word::End);
            }
        }
    }
}

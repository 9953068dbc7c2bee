//! Runs a program under guard until it and everything it started are gone: a project's
//! check, a version query.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::guard::{GuardCommand, GuardReport};
use crate::guarded::{GuardedProcess, LineLimit, ProcessEvent};
use crate::launch::Launch;

/// How often the stop flag is checked.
const STOP_POLL: Duration = Duration::from_millis(50);
/// A longer line of standard output is read in pieces.
const MAX_LINE: usize = 64 << 10;
/// How long to read what a program wrote before it and everything it started were gone.
const DRAIN_DEADLINE: Duration = Duration::from_secs(2);
/// How long to search for the program's processes if its guard was killed.
const LEFTOVER_DEADLINE: Duration = Duration::from_secs(2);

/// A program to run under guard.
#[derive(Clone, Copy, Debug)]
pub struct GuardedRun<'a> {
    /// What to run.
    pub launch: &'a Launch,
    /// The program that serves as guard: omx itself.
    pub guard_program: &'a Path,
    /// When it is terminated.
    pub deadline: Duration,
    /// How much of the beginning of standard output is kept.
    pub keep_stdout: usize,
    /// The command to the guard at the deadline.
    pub at_deadline: GuardCommand,
    /// The variable of the program's environment whose value marks its processes. They
    /// are found by it if the guard is killed.
    pub mark: &'a str,
}

/// How a guarded program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardedExit {
    /// It exited by itself with this code, or none if a signal killed it.
    Exited(Option<i32>),
    /// It was terminated at its deadline.
    TimedOut,
    /// It was terminated because the stop flag was set.
    Stopped,
    /// Its guard was killed while it ran, so its processes were killed, except for this
    /// many.
    GuardKilled(usize),
}

/// How a guarded program ended, and what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedOutput {
    /// How it ended.
    pub exit: GuardedExit,
    /// The beginning of standard output.
    pub stdout: Vec<u8>,
}

impl GuardedRun<'_> {
    /// Runs the program, with an empty standard input. Returns when it and everything it
    /// started are gone; setting `stop` terminates them.
    pub fn run(&self, stop: &AtomicBool) -> io::Result<GuardedOutput> {
        self.run_reading(stop, |_| {})
    }

    /// The same, and passes on everything that the program writes to standard output.
    pub fn run_reading(
        &self,
        stop: &AtomicBool,
        read: impl FnMut(&[u8]),
    ) -> io::Result<GuardedOutput> {
        let (sender, events) = channel();
        let forward = move |event| {
            let _ = sender.send(event);
        };
        let process = GuardedProcess::start_with(
            self.launch,
            self.guard_program,
            LineLimit::Split(MAX_LINE),
            forward,
        )?;
        process.close_input();
        let result = self.watch(&process, &events, stop, read);
        process.reap();
        result
    }

    fn watch(
        &self,
        process: &GuardedProcess,
        events: &Receiver<ProcessEvent>,
        stop: &AtomicBool,
        mut read: impl FnMut(&[u8]),
    ) -> io::Result<GuardedOutput> {
        let deadline = Instant::now() + self.deadline;
        let mut stdout = Vec::new();
        let mut exit = None;
        let mut terminated = None;
        let mut is_tree_gone = false;
        let mut is_refused = false;
        let mut is_read = false;
        let mut ended = None;
        loop {
            match events.recv_timeout(STOP_POLL) {
                Ok(ProcessEvent::Line(line)) => {
                    process.acknowledge(&line);
                    read(&line);
                    read(b"\n");
                    let room = self.keep_stdout.saturating_sub(stdout.len());
                    stdout.extend(line.iter().chain(b"\n").take(room));
                }
                Ok(ProcessEvent::ErrorLine(line)) => process.acknowledge(&line),
                Ok(ProcessEvent::Guard(GuardReport::Exited(code))) => {
                    exit = Some(GuardedExit::Exited(code));
                }
                Ok(ProcessEvent::Guard(GuardReport::CannotStart(number))) => {
                    return Err(io::Error::from_raw_os_error(number));
                }
                Ok(ProcessEvent::Guard(GuardReport::CannotConfine)) => is_refused = true,
                // The guard itself held the stream, so the whole reason was read.
                Ok(ProcessEvent::ErrorsClosed) if is_refused => {
                    return Err(io::Error::other(process.stderr()));
                }
                Ok(ProcessEvent::GuardGone) if is_refused => {}
                Ok(ProcessEvent::Guard(GuardReport::Gone | GuardReport::Left(_))) => {
                    is_tree_gone = true;
                }
                Ok(ProcessEvent::GuardGone) | Err(RecvTimeoutError::Disconnected)
                    if ended.is_none() =>
                {
                    // A guard that did not report this was killed, and its tree may run.
                    let left = if is_tree_gone { 0 } else { self.kill_leftovers(process) };
                    let exit = terminated.or(exit).unwrap_or(GuardedExit::GuardKilled(left));
                    ended = Some((exit, Instant::now() + DRAIN_DEADLINE));
                }
                Ok(ProcessEvent::OutputClosed) | Err(RecvTimeoutError::Disconnected) => {
                    is_read = true;
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            }
            // What the program wrote last may still be in its pipe.
            if let Some((exit, until)) = ended {
                if is_read || Instant::now() >= until {
                    return Ok(GuardedOutput { exit, stdout });
                }
                continue;
            }
            let (reason, command) = if stop.load(Ordering::Relaxed) {
                (GuardedExit::Stopped, GuardCommand::Terminate)
            } else if Instant::now() >= deadline {
                (GuardedExit::TimedOut, self.at_deadline)
            } else {
                continue;
            };
            if terminated.is_none() {
                terminated = Some(reason);
                process.send_command(command);
            }
        }
    }

    /// Kills what a killed guard left behind. Returns how many processes are left.
    fn kill_leftovers(&self, process: &GuardedProcess) -> usize {
        let value = self.launch.environment.get(OsStr::new(self.mark)).and_then(|it| it.to_str());
        process.kill_leftovers(value.map(|value| (self.mark, value)), LEFTOVER_DEADLINE)
    }
}

//! Ending the demo early: Ctrl-C, a signal, or a reader of its output that left.
//! The command that is running is interrupted; the demo then cleans up.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::edge;

/// Why the demo ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    /// Ctrl-C, or a request to terminate.
    Interrupted,
    /// Nobody reads its output any more.
    ReaderGone,
}

/// Runs one command at a time, and interrupts it when the demo is to stop.
#[derive(Clone, Default)]
pub(super) struct Commands(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    stopped: Option<StopReason>,
    /// The command that runs. It is cleared before the process is reaped, so that
    /// a signal never reaches another process with the same id.
    running: Option<Pid>,
}

/// How a command ended, and what it printed if that was captured.
pub(super) struct DemoOutput {
    pub(super) code: Option<i32>,
    pub(super) text: String,
}

impl Commands {
    /// Watches for signals, and for the end of whoever reads standard output.
    pub(super) fn watched() -> io::Result<Self> {
        let commands = Self::default();
        let interrupted = commands.clone();
        edge::on_interrupt(move || interrupted.stop(StopReason::Interrupted))?;
        let unread = commands.clone();
        std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            await_reader_gone();
            unread.stop(StopReason::ReaderGone);
        })?;
        Ok(commands)
    }

    /// Why the demo is to stop, if it is.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.state().stopped
    }

    /// Runs a command to its end. It is in a process group of its own: Ctrl-C
    /// reaches the demo alone, which passes it on.
    pub(super) fn run(&self, mut command: Command, output: Stdio) -> io::Result<DemoOutput> {
        command.process_group(0).stdin(Stdio::null()).stdout(output).stderr(Stdio::inherit());
        let (mut child, pid) = {
            let mut state = self.state();
            if state.stopped.is_some() {
                return Ok(DemoOutput { code: None, text: String::new() });
            }
            let child = command.spawn()?;
            let pid = Pid::from_child(&child);
            state.running = Some(pid);
            (child, pid)
        };
        let text = read_output(&mut child);
        let exited = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
        while matches!(exited(), Err(Errno::INTR)) {}
        self.state().running = None;
        Ok(DemoOutput { code: child.wait()?.code(), text: text? })
    }

    fn stop(&self, reason: StopReason) {
        let mut state = self.state();
        state.stopped.get_or_insert(reason);
        if let Some(pid) = state.running {
            let _ = kill_process(pid, Signal::INT);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_output(child: &mut Child) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// Waits until the other end of standard output is closed; for a file, for ever.
fn await_reader_gone() {
    let output = io::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    while poll(&mut watched, None) == Err(Errno::INTR) {}
}

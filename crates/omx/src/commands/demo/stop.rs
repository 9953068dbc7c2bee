//! Ends the demo early: on Ctrl-C, a signal, or when nobody reads its output anymore.
//! Interrupts the running command; the demo then cleans up.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::edge;

/// Why the demo ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DemoStop {
    /// Ctrl-C or a termination signal.
    Interrupted,
    /// Nobody reads the output anymore.
    ReaderGone,
}

/// Runs one command at a time, and interrupts it when the demo has to stop.
#[derive(Clone, Default)]
pub(super) struct Commands(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    stopped: Option<DemoStop>,
    /// The running command. Cleared before the process is reaped, so that a signal
    /// never reaches another process with the same id.
    running: Option<Pid>,
}

/// A command's exit status and its captured output, if any.
pub(super) struct DemoOutput {
    pub(super) code: Option<i32>,
    pub(super) text: String,
}

impl Commands {
    /// Watches for signals, and for the reader of standard output to disappear.
    pub(super) fn watched() -> io::Result<Self> {
        let commands = Self::default();
        let interrupted = commands.clone();
        edge::on_interrupt(move || interrupted.stop(DemoStop::Interrupted))?;
        let unread = commands.clone();
        std::thread::Builder::new().name("reader".to_owned()).spawn(move || {
            await_reader_gone();
            unread.stop(DemoStop::ReaderGone);
        })?;
        Ok(commands)
    }

    /// Why the demo has to stop, if it does.
    pub(super) fn stopped(&self) -> Option<DemoStop> {
        self.state().stopped
    }

    /// Runs a command to its end, in its own process group, so that Ctrl-C reaches
    /// only the demo, which passes it on.
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

    fn stop(&self, reason: DemoStop) {
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

/// Blocks until the reader of standard output closes it; forever for a file.
fn await_reader_gone() {
    let output = io::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    while poll(&mut watched, None) == Err(Errno::INTR) {}
}

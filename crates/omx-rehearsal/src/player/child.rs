//! The one process a job may have, in a group of its own, so that it can be
//! ended from outside with everything that stayed in the group.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// A place for a process.
#[derive(Debug, Default)]
pub(super) struct Child {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Empty,
    /// A process that nobody has waited for, so the number is its own.
    Running(Pid),
    /// Nothing more is started here.
    Stopped,
}

impl Child {
    /// Starts a process, unless this place was stopped.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<process::Child> {
        let mut state = self.state();
        if matches!(*state, State::Stopped) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let child = command.process_group(0).spawn()?;
        *state = State::Running(Pid::from_child(&child));
        Ok(child)
    }

    /// Waits for a process that was started here.
    pub(super) fn wait(&self, mut child: process::Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&child);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), look), Err(rustix::io::Errno::INTR)) {}
        // Its number is given back only while nobody can be about to use it.
        let mut state = self.state();
        let status = child.wait()?;
        if matches!(*state, State::Running(_)) {
            *state = State::Empty;
        }
        Ok(status)
    }

    /// Ends what runs here; nothing is started here any more.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        if let State::Running(pid) = *state {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        *state = State::Stopped;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The child process of a job, in a process group of its own, so that another
//! thread can kill it with everything that stayed in the group.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{self, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// Holds at most one child process.
#[derive(Debug, Default)]
pub(super) struct JobProcess {
    state: Mutex<State>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Empty,
    /// Not reaped yet, so the pid cannot have been reused.
    Running(Pid),
    /// Refuses to start anything.
    Stopped,
}

impl JobProcess {
    /// Starts a process, unless the job was stopped.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<process::Child> {
        let mut state = self.state();
        if matches!(*state, State::Stopped) {
            return Err(io::Error::from(io::ErrorKind::Interrupted));
        }
        let child = command.process_group(0).spawn()?;
        *state = State::Running(Pid::from_child(&child));
        Ok(child)
    }

    /// Waits for the process that was started here.
    pub(super) fn wait(&self, mut child: process::Child) -> io::Result<ExitStatus> {
        let pid = Pid::from_child(&child);
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(pid), peek), Err(rustix::io::Errno::INTR)) {}
        // Reap under the lock: `stop` must not signal a pid that is free again.
        let mut state = self.state();
        let status = child.wait()?;
        if matches!(*state, State::Running(_)) {
            *state = State::Empty;
        }
        Ok(status)
    }

    /// Kills the process group and refuses to start another.
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

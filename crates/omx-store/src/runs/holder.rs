//! Identifies the process that holds a run's lock, so that a signal reaches exactly
//! that process. It never decides whether a run is alive; only the lock does.

use omx_process::platform::read_boot_id;
use omx_process::{ProcessId, Signal};
use serde::{Deserialize, Serialize};

/// A process, distinguished from every other process with the same pid, even after a reboot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockHolder {
    /// The pid.
    pub pid: u32,
    /// The start time in the system's own unit, if known.
    pub started: Option<u64>,
    /// The boot within which pid and start time identify a process.
    pub boot: Option<String>,
}

impl LockHolder {
    /// This process.
    pub fn this_process() -> Self {
        Self::of_process(std::process::id())
    }

    /// The process with this pid.
    pub(super) fn of_process(pid: u32) -> Self {
        let started = ProcessId::find(pid).map(|process| process.started);
        Self { pid, started, boot: read_boot_id() }
    }

    /// Whether exactly this process is running.
    pub fn is_running(&self) -> bool {
        self.in_this_boot().is_some_and(ProcessId::is_running)
    }

    /// Sends a signal to exactly this process and returns whether it was running.
    pub fn signal(&self, signal: Signal) -> bool {
        self.in_this_boot().is_some_and(|process| process.signal(signal))
    }

    /// The process, if it was started since the machine was.
    pub fn in_this_boot(&self) -> Option<ProcessId> {
        let started = self.started.filter(|_| self.boot == read_boot_id())?;
        Some(ProcessId { pid: self.pid, started })
    }
}

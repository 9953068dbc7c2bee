//! Processes of this machine: which one is meant, what it is, and its ancestors.
//!
//! A pid alone is never enough, because the system reuses pids. A process is
//! identified by its pid together with its start time.

use rustix::process::{Pid, Signal, kill_process};

use crate::platform::{self, ProcessHandle};

/// Longer chains of parents are cut off.
pub(crate) const MAX_ANCESTORS: usize = 200;

/// A process, distinguished from every other one that had or will have its pid since
/// the machine was booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// The pid.
    pub pid: u32,
    /// The start time, in the system's own unit.
    pub started: u64,
}

/// What the process table says about a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Which process.
    pub id: ProcessId,
    /// The pid of its parent; 0 if it has none.
    pub parent: u32,
    /// The id of its session.
    pub session: u32,
    /// Whether it has exited and waits to be reaped.
    pub is_dead: bool,
    /// The name of its program, as far as the system keeps it.
    pub program: String,
}

impl ProcessId {
    /// The running process that has this pid now.
    pub fn find(pid: u32) -> Option<Self> {
        ProcessInfo::read(pid).filter(|info| !info.is_dead).map(|info| info.id)
    }

    /// Whether exactly this process is running.
    pub fn is_running(self) -> bool {
        Self::find(self.pid) == Some(self)
    }

    /// Sends a signal to exactly this process and returns whether it was running.
    pub fn signal(self, signal: Signal) -> bool {
        // Open the handle first, then compare the start time, so that a reused pid
        // cannot match.
        let handle = ProcessHandle::open(self.pid);
        let is_running = self.is_running();
        if is_running {
            let _ = match (handle, i32::try_from(self.pid).ok().and_then(Pid::from_raw)) {
                (Ok(handle), _) => handle.signal(signal),
                // No handles on this system, or too many open files: the pid was right
                // a moment ago.
                (Err(_), Some(pid)) => kill_process(pid, signal).map_err(Into::into),
                (Err(error), None) => Err(error),
            };
        }
        is_running
    }
}

impl ProcessInfo {
    /// Reads a process. `None` if there is no process with this pid.
    pub fn read(pid: u32) -> Option<Self> {
        platform::read_process(pid)
    }

    /// Reads every process of the machine.
    pub fn read_all() -> Vec<Self> {
        platform::list_processes()
    }

    /// The parent of this process, unless it has none.
    pub fn read_parent(&self) -> Option<Self> {
        (self.parent > 0).then(|| Self::read(self.parent))?
    }
}

/// A process and its ancestors, nearest first.
pub fn with_ancestors(pid: u32) -> impl Iterator<Item = ProcessInfo> {
    std::iter::successors(ProcessInfo::read(pid), ProcessInfo::read_parent).take(MAX_ANCESTORS)
}

/// Whether a process was started with an environment variable, whatever its value.
pub fn has_variable(pid: u32, name: &str) -> bool {
    let prefix = format!("{name}=");
    environment_contains(pid, |entry| entry.starts_with(prefix.as_bytes()))
}

/// Whether a process was started with this value of an environment variable.
pub(crate) fn has_variable_value(pid: u32, name: &str, value: &str) -> bool {
    let expected = format!("{name}={value}");
    environment_contains(pid, |entry| entry == expected.as_bytes())
}

fn environment_contains(pid: u32, matches: impl Fn(&[u8]) -> bool) -> bool {
    platform::read_environment(pid).split(|&byte| byte == 0).any(matches)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use rustix::process::{WaitId, WaitIdOptions, waitid};

    use super::*;

    #[test]
    fn this_process_and_its_parent_are_found() {
        let own = ProcessId::find(std::process::id()).unwrap();
        assert!(own.is_running());
        let chain: Vec<ProcessInfo> = with_ancestors(own.pid).collect();
        assert_eq!(chain[0].id, own);
        assert_eq!(chain[1].id.pid, chain[0].parent);
        assert!(chain.last().unwrap().parent == 0 || chain.len() == MAX_ANCESTORS);
    }

    #[test]
    fn a_reused_pid_does_not_match() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = ProcessId::find(child.id()).unwrap();
        let earlier = ProcessId { started: id.started - 1, ..id };
        assert!(!earlier.is_running());
        assert!(!earlier.signal(Signal::KILL), "another process with this pid is not signaled");
        assert!(child.try_wait().unwrap().is_none());
        assert!(id.signal(Signal::KILL));
        child.wait().unwrap();
        assert!(!id.is_running());
    }

    #[test]
    fn a_process_that_waits_to_be_reaped_is_not_running() {
        let mut child = Command::new("true").spawn().unwrap();
        let until_exit = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(Pid::from_child(&child)), until_exit).unwrap();
        assert!(ProcessInfo::read(child.id()).unwrap().is_dead);
        assert_eq!(ProcessId::find(child.id()), None);
        child.wait().unwrap();
    }

    #[test]
    fn variables_are_found_by_name_and_by_value() {
        let mut child = Command::new("sleep").arg("60").env("WORKER_MARK", "a=b").spawn().unwrap();
        let pid = child.id();
        // The kernel publishes the environment a moment after the new program is loaded.
        let deadline = Instant::now() + Duration::from_secs(30);
        while !has_variable(pid, "WORKER_MARK") && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(has_variable(pid, "WORKER_MARK") && !has_variable(pid, "WORKER"));
        assert!(has_variable_value(pid, "WORKER_MARK", "a=b"));
        assert!(!has_variable_value(pid, "WORKER_MARK", "a"));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

//! All processes below one, and signals that reach exactly those.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, kill_process};

use crate::platform::{list_own_children, list_processes};
use crate::process_info::ProcessInfo;

/// Every process of the machine by its pid.
pub(crate) type ProcessTable = BTreeMap<u32, ProcessInfo>;

/// Reads every process of the machine.
pub(crate) fn read_table() -> ProcessTable {
    list_processes().into_iter().map(|info| (info.id.pid, info)).collect()
}

/// Sends a signal to every process below this one and returns how many were running.
/// Those that exited and wait to be reaped do not count.
pub fn signal_descendants(root: u32, signal: Signal) -> usize {
    let table = read_table();
    let descendants = with_descendants([root], &table).into_iter().filter(|pid| *pid != root);
    descendants.filter(|pid| signal_process(*pid, &table, signal)).count()
}

/// Kills the direct children of this process. The children of a killed process become
/// its own, so nothing deeper needs to be found. This takes microseconds, which is fast
/// enough to hit a process that was only just started.
pub(super) fn kill_children(own: u32) {
    let children = list_own_children().unwrap_or_else(|| {
        let all = list_processes().into_iter();
        all.filter(|info| info.parent == own).map(|info| info.id.pid).collect()
    });
    for child in children {
        if let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) {
            // Only this process reaps it, so until then the pid cannot be reused.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Sends a signal to a running process of the table, unless its pid has been reused
/// since. Returns whether it was running.
pub(crate) fn signal_process(pid: u32, table: &ProcessTable, signal: Signal) -> bool {
    let running = table.get(&pid).filter(|info| !info.is_dead);
    running.is_some_and(|info| info.id.signal(signal))
}

/// These processes and all of their descendants.
pub(crate) fn with_descendants(
    roots: impl IntoIterator<Item = u32>,
    table: &ProcessTable,
) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut pending: Vec<u32> = roots.into_iter().collect();
    while let Some(next) = pending.pop() {
        if found.insert(next) {
            pending
                .extend(table.values().filter(|info| info.parent == next).map(|info| info.id.pid));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process_info::ProcessId;

    #[test]
    fn descendants_of_every_generation_are_found_and_nothing_else() {
        let info = |pid, parent| {
            let id = ProcessId { pid, started: 0 };
            (pid, ProcessInfo { id, parent, session: 1, is_dead: false, program: String::new() })
        };
        let table = [info(2, 1), info(3, 2), info(4, 3), info(5, 1)].into();
        assert_eq!(with_descendants([2], &table), [2, 3, 4].into());
        assert_eq!(with_descendants([3, 5], &table), [3, 4, 5].into());
    }
}

//! All processes below one, from `/proc`, and signals that reach the right one.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process as `/proc/<pid>/stat` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    parent: i32,
    started: u64,
    dead: bool,
}

/// Sends a signal to every process below this one and tells how many there
/// were. Dead ones that nobody has waited for do not count.
pub(super) fn signal_below(root: i32, signal: Signal) -> usize {
    let table = processes();
    let mut count = 0;
    for pid in below(root, &table) {
        let Some(entry) = table.get(&pid).filter(|entry| !entry.dead) else { continue };
        count += 1;
        send(pid, entry.started, signal);
    }
    count
}

/// Sends a signal to a process unless another one has its number by now.
pub(super) fn send(pid: i32, started: u64, signal: Signal) {
    let Some(number) = Pid::from_raw(pid) else { return };
    let Ok(handle) = pidfd_open(number, PidfdFlags::empty()) else { return };
    // The handle cannot change hands; what it belongs to is looked at after it is had.
    if entry(pid).is_some_and(|entry| entry.started == started) {
        let _ = pidfd_send_signal(&handle, signal);
    }
}

/// When a process was started, in the kernel's own count.
pub(super) fn started(pid: i32) -> Option<u64> {
    entry(pid).map(|entry| entry.started)
}

fn processes() -> BTreeMap<i32, Entry> {
    let Ok(folder) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = folder.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, entry(pid)?))).collect()
}

fn below(root: i32, table: &BTreeMap<i32, Entry>) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(table.iter().filter(|(_, entry)| entry.parent == parent).map(|(pid, _)| pid));
        next += 1;
    }
    found.split_off(1)
}

fn entry(pid: i32) -> Option<Entry> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name stands in brackets and may hold anything, brackets too.
fn parse(stat: &str) -> Option<Entry> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(Entry {
        parent: fields.get(1)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        dead: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets_and_blanks() {
        let stat = "7 (a) b (c)) S 3 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99";
        assert_eq!(parse(stat), Some(Entry { parent: 3, started: 4711, dead: false }));
    }

    #[test]
    fn all_generations_are_found_and_no_other() {
        let entry = |parent| Entry { parent, started: 0, dead: false };
        let table = [(2, entry(1)), (3, entry(2)), (4, entry(3)), (5, entry(1))].into();
        assert_eq!(below(2, &table), [3, 4]);
    }
}

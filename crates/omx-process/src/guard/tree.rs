//! All processes below one, from `/proc`, and signals that reach the right one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

/// A process as `/proc/<pid>/stat` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    parent: i32,
    pub(super) session: i32,
    pub(super) started: u64,
    dead: bool,
}

/// Every process there is, by its number.
pub(super) type Table = BTreeMap<i32, Entry>;

/// Sends a signal to every process below this one and tells how many there
/// were. Dead ones that nobody has waited for do not count.
pub(super) fn signal_below(root: i32, signal: Signal) -> usize {
    let table = processes();
    let below = with_all_below([root], &table);
    let living = below.into_iter().filter(|pid| *pid != root);
    living.filter(|pid| send(*pid, &table, signal)).count()
}

/// Kills the direct children of this process. Those of a killed one become
/// its children in turn, so nothing deeper has to be looked for: this takes
/// microseconds, and so it also meets what has only just been started.
pub(super) fn kill_children(own: i32) {
    let listed = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    let children: Vec<i32> = match &listed {
        Ok(list) => list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // A kernel that does not tell.
        Err(_) => {
            let all = processes().into_iter();
            all.filter(|(_, entry)| entry.parent == own).map(|(pid, _)| pid).collect()
        }
    };
    for child in children.into_iter().filter_map(Pid::from_raw) {
        // Its number is its own until this process, and nobody else, buries it.
        let _ = kill_process(child, Signal::KILL);
    }
}

/// Sends a signal to a living process of the table, unless another one has its
/// number by now. Tells whether it lived.
pub(super) fn send(pid: i32, table: &Table, signal: Signal) -> bool {
    let Some(seen) = table.get(&pid).filter(|entry| !entry.dead) else { return false };
    let Some(number) = Pid::from_raw(pid) else { return false };
    let handle = pidfd_open(number, PidfdFlags::empty());
    // The handle cannot change hands; what it belongs to is looked at after it is had.
    let same = entry(pid).is_some_and(|entry| entry.started == seen.started && !entry.dead);
    if same {
        let _ = match handle {
            Ok(handle) => pidfd_send_signal(&handle, signal),
            // A system without handles, or too many files: the number was right just now.
            Err(_) => kill_process(number, signal),
        };
    }
    same
}

/// Looks at every process.
pub(super) fn processes() -> Table {
    let Ok(folder) = fs::read_dir("/proc") else { return Table::new() };
    let pids = folder.flatten().filter_map(|item| item.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, entry(pid)?))).collect()
}

/// Some processes, and all of their descendants.
pub(super) fn with_all_below(roots: impl IntoIterator<Item = i32>, table: &Table) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut open: Vec<i32> = roots.into_iter().collect();
    while let Some(next) = open.pop() {
        if found.insert(next) {
            open.extend(table.iter().filter(|(_, entry)| entry.parent == next).map(|(pid, _)| pid));
        }
    }
    found
}

fn entry(pid: i32) -> Option<Entry> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name stands in brackets and may hold anything, brackets too.
fn parse(stat: &str) -> Option<Entry> {
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(Entry {
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        dead: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_brackets_and_blanks() {
        let stat = "7 (a) b (c)) S 3 6 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99";
        assert_eq!(parse(stat), Some(Entry { parent: 3, session: 5, started: 4711, dead: false }));
    }

    #[test]
    fn all_generations_are_found_and_no_other() {
        let entry = |parent| Entry { parent, session: 1, started: 0, dead: false };
        let table = [(2, entry(1)), (3, entry(2)), (4, entry(3)), (5, entry(1))].into();
        assert_eq!(with_all_below([2], &table), [2, 3, 4].into());
        assert_eq!(with_all_below([3, 5], &table), [3, 4, 5].into());
    }
}

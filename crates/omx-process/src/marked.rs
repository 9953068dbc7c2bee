//! Finds processes by a mark in the environment that they inherited, and ends them. This
//! reaches what neither its starter nor its guard can end any more, because both are gone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::guard::{ProcessTable, read_table, signal_process, with_descendants};
use crate::platform::read_environment;
use crate::process_info::{ProcessInfo, with_ancestors};

/// The pause between two searches.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Finds the running processes whose environment has an entry that `is_mark` accepts, the
/// rest of the sessions that those lead, and all of their descendants. Never this process
/// or one of its ancestors.
pub fn find_marked(is_mark: impl Fn(&[u8]) -> bool) -> Vec<ProcessInfo> {
    let table = read_table();
    let found = find(&table, &is_mark);
    table.into_iter().filter(|(pid, _)| found.contains(pid)).map(|(_, info)| info).collect()
}

/// Ends such processes: lets those that are exiting do so for as long as `grace`, then
/// kills until none is left or the deadline has passed. Returns those that are left.
pub fn end_marked(
    is_mark: impl Fn(&[u8]) -> bool,
    grace: Duration,
    deadline: Duration,
) -> Vec<ProcessInfo> {
    let start = Instant::now();
    loop {
        let table = read_table();
        let found = find(&table, &is_mark);
        let is_over = start.elapsed() >= deadline;
        if found.is_empty() || is_over {
            return table
                .into_iter()
                .filter(|(pid, _)| found.contains(pid))
                .map(|it| it.1)
                .collect();
        }
        if start.elapsed() >= grace {
            for pid in &found {
                signal_process(*pid, &table, Signal::KILL);
            }
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

fn find(table: &ProcessTable, is_mark: &impl Fn(&[u8]) -> bool) -> BTreeSet<u32> {
    let own: BTreeSet<u32> = with_ancestors(std::process::id()).map(|info| info.id.pid).collect();
    let own_session = table.get(&std::process::id()).map(|info| info.session);
    let is_marked = |pid: u32| read_environment(pid).split(|&byte| byte == 0).any(is_mark);
    let others = table.values().filter(|info| !info.is_dead && !own.contains(&info.id.pid));
    let marked: BTreeSet<u32> =
        others.clone().map(|info| info.id.pid).filter(|pid| is_marked(*pid)).collect();
    // A session belongs to the marked if its leader did; the leader may be dead.
    let is_led = |session: u32| marked.contains(&session) || !table.contains_key(&session);
    let sessions: BTreeSet<u32> = table
        .values()
        .filter(|info| marked.contains(&info.id.pid))
        .map(|info| info.session)
        .filter(|session| Some(*session) != own_session && *session != 0 && is_led(*session))
        .collect();
    let roots = others
        .filter(|info| marked.contains(&info.id.pid) || sessions.contains(&info.session))
        .map(|info| info.id.pid);
    let mut found = with_descendants(roots, table);
    found.retain(|pid| !own.contains(pid) && table.get(pid).is_some_and(|info| !info.is_dead));
    found
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn marked_processes_and_what_they_started_without_the_mark_are_ended() {
        let mark = format!("mark-{}", std::process::id());
        let script = "env -i sleep 60 & env -i setsid sleep 60 & wait";
        let mut child = Command::new("setsid")
            .args(["sh", "-c", script])
            .env("MARKED_TEST", &mark)
            .spawn()
            .unwrap();
        let entry = format!("MARKED_TEST={mark}");
        let is_mark = |text: &[u8]| text == entry.as_bytes();
        let start = Instant::now();
        while find_marked(is_mark).len() < 3 {
            assert!(start.elapsed() < Duration::from_secs(30), "{:?}", find_marked(is_mark));
            std::thread::yield_now();
        }
        let left = end_marked(is_mark, Duration::ZERO, Duration::from_secs(30));
        assert!(left.is_empty(), "{left:?}");
        child.wait().unwrap();
        assert!(find_marked(is_mark).is_empty());
    }
}

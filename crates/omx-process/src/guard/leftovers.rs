//! The last resort, for when a guard was killed: its tree, found by what every
//! process of it was born with.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid};

use super::tree::{Table, processes, send, with_all_below};

/// By what the processes of a guard are found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftoverTraces<'a> {
    /// The guard: its number is the session of all that did not leave it. It
    /// must be unburied, or the number might be another's.
    pub(crate) guard: i32,
    /// The variable and the value that mark its tree.
    pub(crate) mark: Option<(&'a str, &'a str)>,
}

/// Kills every process that bears a trace, and all below it, until none is
/// left; tells how many are, after the deadline. A process can change its
/// environment and its session, but rarely does both and leaves its parents.
pub(crate) fn kill_leftovers(traces: LeftoverTraces<'_>, patience: Duration) -> usize {
    let deadline = Instant::now() + patience;
    loop {
        let table = processes();
        let found = with_all_below(traced(traces, &table), &table).into_iter();
        let living = found.filter(|pid| send(*pid, &table, Signal::KILL)).count();
        if living == 0 || Instant::now() >= deadline {
            return living;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn traced(traces: LeftoverTraces<'_>, table: &Table) -> Vec<i32> {
    let wanted = traces.mark.map(|(variable, mark)| format!("{variable}={mark}"));
    let marked = |pid: i32| {
        let Some(wanted) = &wanted else { return false };
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes())
    };
    let own = getpid().as_raw_nonzero().get();
    let traced = table
        .iter()
        .filter(|&(&pid, entry)| pid != own && (entry.session == traces.guard || marked(pid)));
    traced.map(|(pid, _)| *pid).collect()
}

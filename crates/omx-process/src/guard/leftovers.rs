//! The last resort, for a guard that was itself killed: finds its tree by what every
//! process of it inherited at birth.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::find::GUARD_NAME;
use super::tree::{ProcessTable, read_table, signal_process, with_descendants};
use crate::platform::adopt_orphans;
use crate::process_info::{ProcessInfo, has_variable_value};

/// The pause between two searches.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// What identifies the processes of a guard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftoverTraces<'a> {
    /// The guard's pid, which is the session of every process that did not leave it. The
    /// guard must not have been reaped, or the pid could belong to another process.
    pub(crate) guard: u32,
    /// The environment variable, with its value, that marks its tree.
    pub(crate) mark: Option<(&'a str, &'a str)>,
}

/// Kills every process with such a trace, and all of its descendants, until none is left
/// or the deadline has passed. Returns how many are left. A process can leave its
/// session, change its environment and lose its parents, but rarely does all three.
pub(crate) fn kill_leftovers(traces: LeftoverTraces<'_>, deadline: Duration) -> usize {
    let deadline = Instant::now() + deadline;
    loop {
        let table = read_table();
        let found = with_descendants(find_traced(traces, &table), &table).into_iter();
        let running = found.filter(|pid| signal_process(*pid, &table, Signal::KILL)).count();
        if running == 0 || Instant::now() >= deadline {
            return running;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// Whether this process is the parent of what loses its guard.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Makes this process the parent of whatever loses its guard, so that
/// a program that kills its guard and hides from its session and environment is still
/// found. For a process that starts nothing in other sessions but guards.
pub fn adopt_unguarded() {
    ADOPTS.store(adopt_orphans().is_ok(), Ordering::Relaxed);
}

/// Children in another session that are no guards lost their guard.
fn is_adopted(own: &ProcessInfo, info: &ProcessInfo) -> bool {
    ADOPTS.load(Ordering::Relaxed)
        && info.parent == own.id.pid
        && info.session != own.session
        && info.program != GUARD_NAME
}

fn find_traced(traces: LeftoverTraces<'_>, table: &ProcessTable) -> Vec<u32> {
    let is_marked = |pid: u32| {
        traces.mark.is_some_and(|(variable, value)| has_variable_value(pid, variable, value))
    };
    let own = std::process::id();
    let is_traced = |pid: u32, info: &ProcessInfo| {
        let is_adopted = table.get(&own).is_some_and(|own| is_adopted(own, info));
        info.session == traces.guard || is_adopted || is_marked(pid)
    };
    let traced = table.iter().filter(|&(&pid, info)| pid != own && is_traced(pid, info));
    traced.map(|(pid, _)| *pid).collect()
}

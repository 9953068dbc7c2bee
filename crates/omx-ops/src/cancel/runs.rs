//! Terminates the processes that drive cancelled runs.
//!
//! Documents end first, so that nothing restarts even if terminating a process fails.

use std::collections::BTreeSet;
use std::time::Duration;

use omx_kernel::{Refusal, RunId, SessionId};
use omx_runs::stop::{self, RunTermination};
use omx_store::Store;

use super::report::CancelReport;

/// How long a run's process has to exit before it is killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a run that has just started has to write its first document.
const STARTING: Duration = Duration::from_secs(5);

/// Terminates the processes of these sessions' runs. A process never terminates
/// itself: a run that cancels its own leftovers is about to exit anyway.
pub(super) fn end_runs(
    store: &Store,
    sessions: &BTreeSet<SessionId>,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    for session in sessions {
        let Ok(run) = RunId::new(session.as_str()) else { continue };
        let termination = stop::terminate(store, &run, PATIENCE)?;
        if termination != RunTermination::NotRunning {
            report.runs.push((run, termination));
        }
    }
    Ok(())
}

/// Waits for a run that has just started and has no document yet. Returns whether
/// there was one.
pub(super) fn wait_for_starting(store: &Store, only: Option<&SessionId>) -> Result<bool, Refusal> {
    stop::wait_for_starting(store, only, STARTING)
}

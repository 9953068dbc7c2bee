//! Limits that the person changes while a process drives the run: small files in the
//! run's folder, which that process takes over into the journal. A file that stays
//! behind, because the process exited first, is taken over by the next one.

use std::sync::atomic::{AtomicU64, Ordering};

use omx_kernel::{Refusal, Timestamp};
use omx_store::runs::{HeldRun, RunFolder};
use serde::{Deserialize, Serialize};

use crate::record::Record;
use crate::spec::Budget;

/// The folder of limit requests in a run's folder.
const FOLDER: &str = "limits";
/// The maximum size of a request.
const MAX_BYTES: usize = 4096;

/// New limits of a run. Limits that it does not name stay in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitChange {
    /// The iteration limit.
    pub max_iterations: Option<u64>,
    /// The budget. It covers the whole run, including past usage.
    pub budget: Budget,
}

impl LimitChange {
    /// The records that put the change into force.
    pub fn records(self) -> Vec<Record> {
        let Self { max_iterations, budget } = self;
        let iterations =
            max_iterations.map(|max_iterations| Record::LimitRaised { max_iterations });
        let budget = (budget != Budget::default()).then_some(Record::BudgetRaised { budget });
        iterations.into_iter().chain(budget).collect()
    }
}

/// Names a limit request. No two requests of a run ever have the same id, and later
/// ones sort behind earlier ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LimitRequestId(String);

impl LimitRequestId {
    /// The id of a request made by this process at this time.
    pub fn new(now: Timestamp) -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        Self(format!("{:014}-{}-{number:06}", now.millis(), std::process::id()))
    }
}

/// Asks the process that drives a run to change its limits.
pub fn request(
    run: &RunFolder,
    now: Timestamp,
    change: LimitChange,
) -> Result<LimitRequestId, Refusal> {
    let id = LimitRequestId::new(now);
    let text = serde_json::to_string(&change).map_err(|error| {
        Refusal::invalid_input(format!("limits that cannot be written: {error}"))
    })?;
    run.write_file(FOLDER, &id.0, &text)?;
    Ok(id)
}

/// Whether no process has taken a request over yet.
pub fn is_pending(run: &RunFolder, id: &LimitRequestId) -> bool {
    run.file_names(FOLDER).unwrap_or_default().contains(&id.0)
}

/// Returns the requests that no process has taken over yet, oldest first.
pub fn pending(run: &RunFolder) -> Vec<(LimitRequestId, LimitChange)> {
    // A request that is being written has another name.
    let is_complete = |name: &String| name.starts_with(|first: char| first.is_ascii_digit());
    let names = run.file_names(FOLDER).unwrap_or_default().into_iter().filter(is_complete);
    let mut pending: Vec<(LimitRequestId, LimitChange)> = names
        .filter_map(|name| {
            let bytes = run.read_file(FOLDER, &name, MAX_BYTES).ok()??;
            Some((LimitRequestId(name), serde_json::from_slice(&bytes).ok()?))
        })
        .collect();
    pending.sort_by(|(one, _), (other, _)| one.cmp(other));
    pending
}

/// Removes a request that is in the journal.
pub fn close(run: &RunFolder, id: &LimitRequestId) {
    let _ = run.remove_file(FOLDER, &id.0);
}

/// Takes over the requests that a process left behind.
pub fn record_pending(held: &mut HeldRun, now: Timestamp) -> Result<(), Refusal> {
    for (id, change) in pending(held.folder()) {
        for record in change.records() {
            held.journal().append(now, &record)?;
        }
        close(held.folder(), &id);
    }
    Ok(())
}

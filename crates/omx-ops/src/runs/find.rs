//! Finds the run that a request means.

use omx_kernel::{Mode, Refusal, RunId};
use omx_runs::overview::overview;
use omx_store::Store;
use omx_store::runs::RunFolder;

use super::ownership::is_own;
use crate::context::Context;

/// Finds the run whose id starts with `start`, or else the latest run.
pub fn find_run(store: &Store, start: Option<&str>) -> Result<RunId, Refusal> {
    let runs = store.run_ids()?;
    let start = start.unwrap_or_default();
    let mut matching = runs.iter().filter(|run| run.as_str().starts_with(start));
    match (matching.next_back(), start.is_empty()) {
        (None, true) => Err(Refusal::invalid_input("no runs in this project")),
        (None, false) => Err(Refusal::invalid_input(format!(
            "no run has an id that starts with {start}; list the runs to see their ids"
        ))),
        (Some(run), false) if matching.next().is_some() => Err(Refusal::invalid_input(format!(
            "the id prefix {start} is ambiguous, {} is one of several matches; use a longer prefix",
            run
        ))),
        (Some(run), _) => Ok(run.clone()),
    }
}

/// Finds the run to resume: the one whose id starts with `start`, or the latest
/// unfinished run of this mode that is the person's.
pub fn find_resumable(
    context: &Context<'_>,
    store: &Store,
    mode: Mode,
    start: &str,
) -> Result<RunId, Refusal> {
    if !start.is_empty() {
        return find_run(store, Some(start));
    }
    for id in store.run_ids()?.into_iter().rev() {
        // A run that cannot be read is not the one to resume, and hides no other.
        let Ok(Some(folder)) = store.run(&id) else { continue };
        if !is_own(context, &folder).unwrap_or_default() {
            continue;
        }
        let Ok(seen) = overview(store, &folder) else { continue };
        if seen.spec.mode == mode && seen.state.is_resumable() {
            return Ok(id);
        }
    }
    Err(Refusal::invalid_input(format!("no unfinished {} run to resume", mode.name())))
}

/// Opens the folder of a run.
pub(super) fn open_folder(store: &Store, id: &RunId) -> Result<RunFolder, Refusal> {
    store.run(id)?.ok_or_else(|| Refusal::invalid_input(format!("run {id} is gone")))
}

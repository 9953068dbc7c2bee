//! Resumes a run that no process drives.

use omx_kernel::{Mode, Refusal, RefusalCode, Scope};
use omx_runs::overview::overview;
use omx_runs::workspace;

use super::change::{RunChange, record_change};
use super::find::{find_resumable, open_folder};
use super::ownership::require_own;
use super::select::{RunSelector, acquire, refuse_to_agents};
use super::start::RunStartReport;
use crate::config::load_trusted;
use crate::context::Context;

/// A request to resume a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResumeRequest {
    /// The run.
    pub run: RunSelector,
    /// Without an id: the latest unfinished run of this mode instead of the latest run.
    pub mode: Option<Mode>,
    /// Decisions about interrupted steps: `STEP=rerun` or `STEP=skip`.
    pub decisions: Vec<String>,
    /// What changes for the rest of the run.
    pub change: RunChange,
}

/// Resumes a run in a separate process.
pub fn run_resume(
    context: &Context<'_>,
    request: &RunResumeRequest,
) -> Result<RunStartReport, Refusal> {
    let (store, id) = match (request.mode, request.run.id.as_deref().unwrap_or_default()) {
        (Some(mode), "") => {
            let store = context.store_for(request.run.project.as_deref())?;
            let id = find_resumable(context, &store, mode, "")?;
            (store, id)
        }
        _ => request.run.find(context)?,
    };
    refuse_to_agents(context, &store, "resume")?;
    let folder = open_folder(&store, &id)?;
    require_own(context, &folder)?;
    let seen = overview(&store, &folder)?;
    load_trusted(context, &store)?;
    match seen.state.raw() {
        "running" => {
            let why = format!("run {id} is in progress; there is nothing to resume");
            return Err(Refusal::new(RefusalCode::Busy, why));
        }
        "complete" => {
            let why = format!("run {id} is complete; there is nothing to resume");
            return Err(Refusal::invalid_input(why));
        }
        _ => {}
    }
    record_change(context, &store, &id, &request.change)?;
    // The person resumes it, so a cancel no longer counts. Only under the run's lock:
    // a process that is being cancelled must not miss it.
    let held = acquire(&store, &id, "there is nothing to resume")?;
    store.clear_cancel_mark(&Scope::Session(id.session()))?;
    drop(held);
    context.caller.before_wait();
    context.runs.drive_detached(context, &store, &id, &request.decisions)?;
    let mut spec = overview(&store, &folder)?.spec;
    spec.workspace = workspace::relocate(&store, &id, spec.workspace);
    Ok(RunStartReport { id, spec, warnings: Vec::new() })
}

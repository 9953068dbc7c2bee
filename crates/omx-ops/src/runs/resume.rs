//! Resumes a run that no process drives.

use omx_kernel::{GuardedAct, Mode, Refusal, RefusalCode, RunId, RunState, Scope};
use omx_runs::overview::{Overview, overview};
use omx_runs::workspace;
use omx_store::Store;

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
    match seen.state {
        RunState::Running => {
            let why = format!("run {id} is in progress; there is nothing to resume");
            return Err(Refusal::new(RefusalCode::Busy, why));
        }
        RunState::COMPLETE => {
            let why = format!("run {id} is complete; there is nothing to resume");
            return Err(Refusal::invalid_input(why));
        }
        RunState::Stopped | RunState::Closed(_) => {}
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

/// The run, if it is complete: then a resume that waits for the end only reports it. What
/// became of its branch since does not matter, a merged one may be gone.
pub fn find_complete(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
) -> Result<Option<Overview>, Refusal> {
    context.check_act(GuardedAct::OfPerson("resume a run"))?;
    let folder = open_folder(store, id)?;
    require_own(context, &folder)?;
    let seen = overview(store, &folder)?;
    Ok((seen.state == RunState::COMPLETE).then_some(seen))
}

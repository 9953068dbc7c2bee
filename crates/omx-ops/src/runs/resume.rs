//! Resumes a run that no process drives.

use omx_kernel::{Refusal, RefusalCode};
use omx_runs::overview::overview;

use super::find::open_folder;
use super::select::RunSelector;
use super::start::RunStartReport;
use crate::config::load_trusted;
use crate::context::Context;

/// A request to resume a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResumeRequest {
    /// The run.
    pub run: RunSelector,
    /// Decisions about interrupted steps: `STEP=rerun` or `STEP=skip`.
    pub decisions: Vec<String>,
}

/// Resumes a run in a separate process.
pub fn run_resume(
    context: &Context<'_>,
    request: &RunResumeRequest,
) -> Result<RunStartReport, Refusal> {
    let (store, id) = request.run.find(context)?;
    let seen = overview(&store, &open_folder(&store, &id)?)?;
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
    context.caller.before_wait();
    context.runs.drive_detached(context, &store, &id, &request.decisions)?;
    Ok(RunStartReport { id, spec: seen.spec, warnings: Vec::new() })
}

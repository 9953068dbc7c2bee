//! A request that names a run and nothing else; cancelling one.

use std::path::PathBuf;

use omx_kernel::{Refusal, RefusalCode, RunId, Scope, SessionId};
use omx_store::Store;
use omx_store::runs::{HeldRun, LockHolder, RunAcquisition};

use super::find::find_run;
use crate::cancel::{CancelReport, CancelRequest, RunProcesses, cancel};
use crate::context::Context;

/// Names a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSelector {
    /// The project's folder; the caller's own without one.
    pub project: Option<PathBuf>,
    /// The start of the run's id; the latest run without one.
    pub id: Option<String>,
}

impl RunSelector {
    /// The run, in its project.
    pub(super) fn find(&self, context: &Context<'_>) -> Result<(Store, RunId), Refusal> {
        let store = context.store_for(self.project.as_deref())?;
        let id = find_run(&store, self.id.as_deref())?;
        Ok((store, id))
    }

    /// The run, for an act that only the person may decide on. An agent that
    /// works for a run may not answer, limit, merge or discard any.
    pub(super) fn find_for_person(
        &self,
        context: &Context<'_>,
        act: &str,
    ) -> Result<(Store, RunId), Refusal> {
        let (store, id) = self.find(context)?;
        refuse_to_agents(context, &store, act)?;
        Ok((store, id))
    }
}

/// Refuses an act of the person to the agents that work for a run.
pub(super) fn refuse_to_agents(
    context: &Context<'_>,
    store: &Store,
    act: &str,
) -> Result<(), Refusal> {
    // A session that is not usable is not a run's.
    let own = context.ambient_scope().unwrap_or(Scope::Compatibility);
    let own = own.session().and_then(|own| RunId::new(own.as_str()).ok());
    match own {
        Some(own) if store.run(&own)?.is_some() => Err(Refusal::invalid_input(format!(
            "an agent of run {own} cannot {act} a run; the person does that"
        ))),
        _ => Ok(()),
    }
}

/// Takes the lock of a run that must not be in progress; `why` continues
/// "the run is in progress".
pub(super) fn acquire(store: &Store, id: &RunId, why: &str) -> Result<HeldRun, Refusal> {
    match store.acquire_run(id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => Ok(held),
        RunAcquisition::HeldBy(_) => {
            Err(Refusal::new(RefusalCode::Busy, format!("run {id} is in progress; {why}")))
        }
        RunAcquisition::Missing => Err(Refusal::invalid_input(format!("there is no run {id}"))),
    }
}

/// Cancels a run: its documents and its process.
pub fn run_cancel(context: &Context<'_>, run: &RunSelector) -> Result<CancelReport, Refusal> {
    let (_, id) = run.find(context)?;
    let session = SessionId::new(id.as_str())?;
    let request = CancelRequest::session(session, RunProcesses::Terminate);
    cancel(context, &CancelRequest { project: run.project.clone(), ..request })
}

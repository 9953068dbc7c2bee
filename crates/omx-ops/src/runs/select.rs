//! A request that only names a run, and the cancel of a run.

use std::path::PathBuf;

use omx_kernel::{GuardedAct, Refusal, RefusalCode, RunId, Scope, SessionId};
use omx_store::Store;
use omx_store::runs::{HeldRun, LockHolder, RunAcquisition};

use super::find::{find_run, open_folder};
use super::ownership::require_own;
use crate::cancel::{CancelReport, CancelRequest, RunProcesses, cancel};
use crate::context::Context;

/// Names a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunSelector {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// A prefix of the run's id; defaults to the latest run.
    pub id: Option<String>,
}

impl RunSelector {
    /// Finds the run and its project.
    pub(super) fn find(&self, context: &Context<'_>) -> Result<(Store, RunId), Refusal> {
        let store = context.store_for(self.project.as_deref())?;
        let id = find_run(&store, self.id.as_deref())?;
        Ok((store, id))
    }

    /// Finds the run for an operation that is up to the person. An agent that works
    /// for a run may not answer, limit, merge or discard any run.
    pub(super) fn find_for_person(
        &self,
        context: &Context<'_>,
        act: &str,
    ) -> Result<(Store, RunId), Refusal> {
        let (store, id) = self.find(context)?;
        refuse_to_agents(context, &store, act)?;
        require_own(context, &open_folder(&store, &id)?)?;
        Ok((store, id))
    }
}

/// Refuses an operation that is up to the person if an agent of a run calls it.
pub(crate) fn refuse_to_agents(
    context: &Context<'_>,
    store: &Store,
    act: &str,
) -> Result<(), Refusal> {
    let what = format!("{act} a run");
    context.check_act(GuardedAct::OfPerson(&what))?;
    // An unusable session id does not belong to a run.
    let own = context.ambient_scope().unwrap_or(Scope::Compatibility);
    let own = own.session().and_then(|own| RunId::new(own.as_str()).ok());
    match own {
        Some(own) if store.run(&own)?.is_some() => Err(Refusal::new(
            RefusalCode::PersonOnly,
            format!("an agent of run {own} cannot {act} a run; the person does that"),
        )),
        _ => Ok(()),
    }
}

/// Acquires a run that must not be in progress. `why` completes the message "the run
/// is in progress".
pub(super) fn acquire(store: &Store, id: &RunId, why: &str) -> Result<HeldRun, Refusal> {
    match store.acquire_run(id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => Ok(held),
        RunAcquisition::HeldBy(_) => {
            Err(Refusal::new(RefusalCode::Busy, format!("run {id} is in progress; {why}")))
        }
        RunAcquisition::Missing => Err(Refusal::invalid_input(format!("there is no run {id}"))),
    }
}

/// Cancels a run's documents and terminates its process.
pub fn run_cancel(context: &Context<'_>, run: &RunSelector) -> Result<CancelReport, Refusal> {
    let (_, id) = run.find(context)?;
    let session = SessionId::new(id.as_str())?;
    let request = CancelRequest::session(session, RunProcesses::Terminate);
    cancel(context, &CancelRequest { project: run.project.clone(), ..request })
}

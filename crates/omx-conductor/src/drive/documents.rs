//! The run's documents in the project. They derive from the journal, never the other way round.

use std::time::Duration;

use omx_kernel::{Mode, Refusal, RefusalCode, Scope, SessionId, Value as Stored};
use omx_ops::{
    CancelRequest, Context, RunProcesses, StateWriteRequest, cancel, parse_fields, state_write,
};
use omx_runs::progress::Progress;
use omx_store::Store;

use super::control::full_disk;
use super::project::ProjectWorld;
use super::world::ObservedDocument;
use crate::engine::DocumentFailure;
use crate::workflow::DocumentChange;

/// How long one attempt waits for the project's lock. The loop handles no events
/// during that time, so it is short; the engine decides about retries.
const LOCK_PATIENCE: Duration = Duration::from_millis(300);

impl<Show: FnMut(&Progress)> ProjectWorld<'_, Show> {
    pub(super) fn find_active_documents(&self) -> Result<Vec<Mode>, DocumentFailure> {
        let scope = Scope::Session(self.session.clone());
        let state = self.env.store.read().map_err(|error| self.failure(error.into()))?;
        let Some(state) = state else { return Ok(Vec::new()) };
        let is_active = |mode: &Mode| {
            let document = state.document(&scope, *mode).ok().flatten();
            document.is_some_and(|document| document.is_active())
        };
        Ok(Mode::ALL.into_iter().filter(is_active).collect())
    }

    pub(super) fn write_change(&self, change: &DocumentChange) -> Result<(), DocumentFailure> {
        let write = || {
            let request = StateWriteRequest {
                project: None,
                session: Some(self.session.clone()),
                mode: change.mode,
                limit_rule: change.limit_rule,
                fields: parse_fields(&change.fields.to_string())?.into_fields(),
            };
            state_write(&self.context_with_short_wait(), request)
        };
        write().map(drop).map_err(|refusal| self.failure(refusal))
    }

    pub(super) fn cancel_active_documents(&self) -> Result<(), DocumentFailure> {
        if self.find_active_documents()?.is_empty() {
            return Ok(());
        }
        let request = CancelRequest::session(self.session.clone(), RunProcesses::Leave);
        let report = cancel(&self.context_with_short_wait(), &request)
            .map_err(|refusal| self.failure(refusal))?;
        report.failure().map_or(Ok(()), |refusal| Err(self.failure(refusal)))
    }

    fn failure(&self, refusal: Refusal) -> DocumentFailure {
        match refusal.code {
            RefusalCode::Busy => DocumentFailure::Busy(refusal.message),
            RefusalCode::RecentlyCancelled => DocumentFailure::Cancelled,
            RefusalCode::Io if full_disk([self.env.store.tree()]).is_some() => {
                DocumentFailure::DiskFull(refusal.message)
            }
            RefusalCode::Io => DocumentFailure::Failed(refusal.message),
            _ => DocumentFailure::Refused(refusal.message),
        }
    }

    /// The context of the run, with a short wait for the project's lock.
    fn context_with_short_wait(&self) -> Context<'_> {
        let context = self.env.context;
        let lock_deadline = LOCK_PATIENCE.min(context.lock_deadline);
        Context { lock_deadline, ..context.clone() }
    }
}

/// Reads the status of a run's own document.
pub(super) fn read_status(store: &Store, session: &SessionId, mode: Mode) -> ObservedDocument {
    if store.is_marked_cancelled(&Scope::Session(session.clone())) {
        return ObservedDocument::Marked;
    }
    let state = match store.read() {
        Ok(Some(state)) => state,
        Ok(None) => return ObservedDocument::Missing,
        Err(_) => return ObservedDocument::Unreadable,
    };
    match state.document(&Scope::Session(session.clone()), mode) {
        Ok(Some(document)) => {
            let outcome = document.get("run_outcome").and_then(Stored::as_str);
            if outcome == Some("cancelled") {
                ObservedDocument::Cancelled
            } else {
                ObservedDocument::Other
            }
        }
        Ok(None) => ObservedDocument::Missing,
        Err(_) => ObservedDocument::Unreadable,
    }
}

//! The run's documents: made from the journal, never the other way round.

use omx_kernel::{Mode, Refusal, RefusalCode, Scope, Value as Stored};
use omx_ops::{CancelRequest, RunProcesses, StateWriteRequest, cancel, parse_fields, state_write};
use serde_json::{Value, json};

use super::Drive;
use crate::engine::Happening;
use crate::story::Entry;
use omx_runs::progress::Progress;

impl<Show: FnMut(&Progress)> Drive<'_, Show> {
    /// Writes the changes that are not written yet. A process that takes a run
    /// up writes all of them: the first begins the documents anew.
    pub(super) fn write_documents(&mut self, entries: &[Entry]) -> Result<(), Refusal> {
        while let Some(entry) = entries.get(self.written) {
            self.written += 1;
            if !self.write(entry.mode, entry.fields.clone())? {
                break;
            }
        }
        Ok(())
    }

    /// Ends what a process that was killed left active. Whoever holds the run's
    /// lock is alone, so it is nobody else's; the changes that follow begin the
    /// documents anew.
    pub(super) fn end_leftovers(&mut self) -> Result<(), Refusal> {
        let scope = Scope::Session(self.session.clone());
        let Some(state) = self.crew.store.read()? else { return Ok(()) };
        for mode in Mode::ALL {
            let left = state.document(&scope, mode).ok().flatten();
            if left.is_some_and(|document| document.is_active()) {
                let ended = json!({"run_outcome": "blocked_on_user", "error": "taken up again"});
                self.write(mode, ended)?;
            }
        }
        Ok(())
    }

    pub(super) fn note(&mut self, mode: Mode, fields: Value) -> Result<(), Refusal> {
        self.write(mode, fields).map(drop)
    }

    /// Changes a document; false if the run was cancelled meanwhile.
    fn write(&mut self, mode: Mode, mut fields: Value) -> Result<bool, Refusal> {
        fields["mode"] = json!(mode.name());
        fields["session_id"] = json!(self.session.as_str());
        // What a process writes first begins the documents anew, also those of
        // a run that was cancelled before.
        let is_first = self.written <= 1;
        if !is_first && self.is_cancelled() {
            return Ok(self.hear_cancel());
        }
        let request = StateWriteRequest::try_from(parse_fields(&fields.to_string())?)?;
        match state_write(self.crew.context, request) {
            Ok(_) => Ok(true),
            Err(refusal)
                if refusal.code == RefusalCode::RecentlyCancelled || self.is_cancelled() =>
            {
                Ok(self.hear_cancel())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// The run is cancelled: nothing more is written.
    fn hear_cancel(&mut self) -> bool {
        self.knows_cancel = true;
        self.teller()(Happening::Cancelled);
        false
    }

    /// Cancels what this process began while the cancel was on its way.
    pub(super) fn cancel_the_rest(&self) -> Result<(), Refusal> {
        let scope = Scope::Session(self.session.clone());
        let Some(state) = self.crew.store.read()? else { return Ok(()) };
        let is_active = |mode: Mode| {
            let document = state.document(&scope, mode).ok().flatten();
            document.is_some_and(|document| document.is_active())
        };
        if !Mode::ALL.into_iter().any(is_active) {
            return Ok(());
        }
        let request = CancelRequest::session(self.session.clone(), RunProcesses::Leave);
        cancel(self.crew.context, &request).map(drop)
    }

    /// Whether somebody cancelled the run. A document that is gone was cleared
    /// by force, which is a cancel too; one that was not written yet is not.
    pub(super) fn is_cancelled(&self) -> bool {
        if self.written == 0 {
            return false;
        }
        let scope = Scope::Session(self.session.clone());
        let Ok(Some(state)) = self.crew.store.read() else { return true };
        match state.document(&scope, self.asked.mode) {
            Ok(Some(document)) => {
                document.get("run_outcome").and_then(Stored::as_str) == Some("cancelled")
            }
            Ok(None) => true,
            // It cannot be read now; that is no cancel.
            Err(_) => false,
        }
    }
}

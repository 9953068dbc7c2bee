//! The run's documents in memory, under the kernel's own rules.

use std::collections::BTreeSet;

use omx_conductor::drive::ObservedDocument;
use omx_conductor::workflow::DocumentChange;
use omx_kernel::evidence::FileFacts;
use omx_kernel::request::WriteRequest;
use omx_kernel::write::{WriteContext, plan_write, required_facts};
use omx_kernel::{
    Dialect, Document, DocumentStatus, IterationLimits, Mode, Refusal, RunEnding, Scope, SessionId,
    Snapshot, Timestamp, cancel,
};
use omx_ops::parse_fields;

/// The documents.
pub struct SimDocuments {
    session: SessionId,
    snapshot: Snapshot,
    /// Somebody cancelled the run while a process had it.
    pub are_cancelled: bool,
}

impl SimDocuments {
    pub fn new(session: SessionId) -> Self {
        let snapshot = Snapshot::empty(Scope::Session(session.clone()));
        Self { session, snapshot, are_cancelled: false }
    }

    pub fn write(
        &mut self,
        change: &DocumentChange,
        files: &BTreeSet<String>,
        dialect: Dialect,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let input = parse_fields(&change.fields.to_string())?;
        let request = WriteRequest::new(change.mode, Some(&self.session), input.into_fields())?
            .with_limit_rule(change.limit_rule);
        let wanted = required_facts(&self.snapshot, &request).paths;
        let facts = FileFacts::assume(wanted.into_iter().filter(|path| files.contains(path)));
        let limits = IterationLimits::new();
        let circumstances = WriteContext { now, limits: &limits, facts: &facts, dialect };
        for (written, document) in plan_write(&self.snapshot, &request, circumstances)?.writes {
            self.snapshot.documents.insert(written, document);
        }
        Ok(())
    }

    /// Somebody cancels the run, or a cancelled run cancels what is left.
    pub fn cancel(&mut self, dialect: Dialect, now: Timestamp) {
        let target = cancel::CancelTarget::Everything;
        let plan = cancel::plan_cancel(&self.snapshot, target, dialect, now).unwrap();
        for entry in plan.entries {
            self.snapshot.documents.insert(entry.mode, entry.document);
        }
        self.are_cancelled = true;
    }

    pub fn active(&self) -> Vec<Mode> {
        self.snapshot.active_modes().collect()
    }

    pub fn status(&self, mode: Mode) -> ObservedDocument {
        match self.life(mode) {
            None => ObservedDocument::Missing,
            Some(DocumentStatus::Ended(RunEnding::Cancelled)) => ObservedDocument::Cancelled,
            Some(_) => ObservedDocument::Other,
        }
    }

    pub fn life(&self, mode: Mode) -> Option<DocumentStatus> {
        self.snapshot.documents.get(&mode).map(Document::status)
    }

    pub fn error(&self, mode: Mode) -> Option<&str> {
        self.snapshot.documents.get(&mode)?.get_str("error")
    }

    /// Whether the mode's document says that it waits.
    pub fn waits(&self, mode: Mode) -> bool {
        let document = self.snapshot.documents.get(&mode);
        document.and_then(|document| document.get("waiting")).is_some_and(|value| !value.is_null())
    }

    /// All counters there are.
    pub fn counters(&self) -> Vec<(Mode, &'static str, u64)> {
        let names = ["iteration", "review_cycle"];
        let documents = self.snapshot.documents.iter();
        documents
            .flat_map(|(mode, document)| {
                names.iter().filter_map(|name| Some((*mode, *name, document.get_u64(name)?)))
            })
            .collect()
    }

    /// Iteration and limit of a mode.
    pub fn iteration(&self, mode: Mode) -> Option<(u64, u64)> {
        let document = self.snapshot.documents.get(&mode)?;
        Some((document.get_u64("iteration")?, document.get_u64("max_iterations")?))
    }
}

//! The run's documents in memory, written by the kernel's rules as the program
//! writes them: what a process has not written yet, in order.

use std::collections::BTreeSet;

use omx_conductor::story::Entry;
use omx_kernel::evidence::FileFacts;
use omx_kernel::request::WriteRequest;
use omx_kernel::write::{WriteContext, plan_write, required_facts};
use omx_kernel::{
    Dialect, Document, DocumentStatus, IterationLimits, Mode, Refusal, Scope, SessionId, Snapshot,
    Timestamp, cancel,
};
use omx_ops::parse_fields;
use serde_json::{Value, json};

/// The documents.
pub struct Documents {
    session: SessionId,
    snapshot: Snapshot,
    /// What this process has written.
    written: Vec<Entry>,
    /// Somebody cancelled the run in them.
    pub are_cancelled: bool,
}

impl Documents {
    pub fn new(session: SessionId) -> Self {
        let snapshot = Snapshot::empty(Scope::Session(session.clone()));
        Self { session, snapshot, written: Vec::new(), are_cancelled: false }
    }

    /// A process begins: it has written nothing. What a dead one left active
    /// is let go of, or its documents could not be begun anew.
    pub fn taken_up(&mut self, now: Timestamp) -> Result<(), Refusal> {
        self.written.clear();
        for mode in Mode::ALL {
            if self.snapshot.active(mode).is_some() {
                let fields = json!({"run_outcome": "blocked_on_user", "error": "taken up again"});
                self.write(mode, &fields, &BTreeSet::new(), now)?;
            }
        }
        Ok(())
    }

    /// The changes that are not written yet.
    pub fn new_ones(&self, entries: &[Entry]) -> Result<Vec<Entry>, String> {
        let known = self.written.len();
        match entries.get(..known) {
            Some(before) if before == self.written => Ok(entries[known..].to_vec()),
            _ => Err("the changes of the documents do not begin with those before".to_owned()),
        }
    }

    /// Writes one of them.
    pub fn enter(
        &mut self,
        entry: Entry,
        files: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.write(entry.mode, &entry.fields, files, now)?;
        self.written.push(entry);
        Ok(())
    }

    pub fn write(
        &mut self,
        mode: Mode,
        fields: &Value,
        files: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let input = parse_fields(&fields.to_string())?;
        let request = WriteRequest::new(mode, Some(&self.session), input.into_fields())?;
        let asked = required_facts(&self.snapshot, &request).paths;
        let existing = asked.into_iter().filter(|path| files.contains(path)).collect();
        let facts = FileFacts { existing, audit: None };
        let limits = IterationLimits::new();
        let circumstances =
            WriteContext { now, limits: &limits, facts: &facts, dialect: Dialect::OMX };
        for (written, document) in plan_write(&self.snapshot, &request, circumstances)?.writes {
            self.snapshot.documents.insert(written, document);
        }
        Ok(())
    }

    /// Somebody cancels the run.
    pub fn cancel(&mut self, now: Timestamp) {
        let target = cancel::CancelTarget::Everything;
        let plan = cancel::plan_cancel(&self.snapshot, target, Dialect::OMX, now).unwrap();
        for entry in plan.entries {
            self.snapshot.documents.insert(entry.mode, entry.document);
        }
        self.are_cancelled = true;
    }

    pub fn active(&self) -> Vec<Mode> {
        self.snapshot.active_modes().collect()
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

//! The documents of a run in memory, under the kernel's own rules.

use omx_kernel::evidence::FileFacts;
use omx_kernel::request::WriteRequest;
use omx_kernel::write::{WriteContext, plan_write, required_facts};
use omx_kernel::{
    Dialect, Exhaustion, IterationLimits, Mode, Refusal, Scope, SessionId, Snapshot, Timestamp,
};
use omx_ops::parse_fields;
use serde_json::Value;

use omx_runs::spec::RunSpec;

/// One change of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Which document.
    pub mode: Mode,
    /// The request for it.
    pub fields: Value,
}

/// What the documents would say, and the changes that led there.
pub(super) struct Ledger {
    snapshot: Snapshot,
    session: SessionId,
    now: Timestamp,
    limits: IterationLimits,
    entries: Vec<Entry>,
}

impl Ledger {
    pub(super) fn new(asked: &RunSpec, session: &SessionId) -> Result<Self, Refusal> {
        let now = Timestamp::parse(&asked.started_at)
            .ok_or_else(|| Refusal::invalid_input("the run's start is not a time"))?;
        Ok(Self {
            snapshot: Snapshot::empty(Scope::Session(session.clone())),
            session: session.clone(),
            now,
            limits: IterationLimits::new(),
            entries: Vec::new(),
        })
    }

    /// The run's session.
    pub(super) fn session(&self) -> &SessionId {
        &self.session
    }

    /// The phase a mode is in.
    pub(super) fn phase(&self, mode: Mode) -> Option<String> {
        self.snapshot.documents.get(&mode)?.phase().map(str::to_owned)
    }

    /// The iteration a mode is in.
    pub(super) fn iteration(&self, mode: Mode) -> u64 {
        let document = self.snapshot.documents.get(&mode);
        document.and_then(|document| document.get_u64("iteration")).unwrap_or_default()
    }

    /// The most iterations a mode may have.
    pub(super) fn max_iterations(&self, mode: Mode) -> u64 {
        let document = self.snapshot.documents.get(&mode);
        document.and_then(|document| document.get_u64("max_iterations")).unwrap_or(u64::MAX)
    }

    /// Whether a mode's document is active.
    pub(super) fn is_active(&self, mode: Mode) -> bool {
        self.snapshot.active(mode).is_some()
    }

    /// Changes a document by the rules; tells what ended it, if something did.
    pub(super) fn write(
        &mut self,
        mode: Mode,
        fields: Value,
    ) -> Result<Option<Exhaustion>, Refusal> {
        let input = parse_fields(&fields.to_string())?;
        let request = WriteRequest::new(mode, Some(&self.session), input.into_fields())?;
        // Files a document names are there: their steps are finished.
        let existing = required_facts(&self.snapshot, &request).paths.into_iter().collect();
        let facts = FileFacts { existing, audit: None };
        let circumstances = WriteContext {
            now: self.now,
            limits: &self.limits,
            facts: &facts,
            dialect: Dialect::OMX,
        };
        let plan = plan_write(&self.snapshot, &request, circumstances)?;
        for (written, document) in plan.writes {
            self.snapshot.documents.insert(written, document);
        }
        self.entries.push(Entry { mode, fields });
        Ok(plan.exhausted)
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

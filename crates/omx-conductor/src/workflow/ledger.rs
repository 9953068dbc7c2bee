//! The documents of a run in memory, subject to the kernel's rules.

use omx_kernel::Document;
use omx_kernel::evidence::FileFacts;
use omx_kernel::request::{LimitRule, WriteRequest};
use omx_kernel::write::{WriteContext, plan_write, required_facts};
use omx_kernel::{
    Dialect, GiveUpReason, IterationLimits, Mode, Refusal, Scope, SessionId, Snapshot, Timestamp,
};
use omx_ops::parse_fields;
use omx_runs::RunSpec;
use serde_json::Value;

use super::WorkflowContext;

/// A change to one of a run's documents.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentChange {
    /// The document.
    pub mode: Mode,
    /// Whether the change may raise the iteration limit.
    pub limit_rule: LimitRule,
    /// The fields to write.
    pub fields: Value,
}

impl DocumentChange {
    /// A change that raises no limit.
    pub fn new(mode: Mode, fields: Value) -> Self {
        Self { mode, limit_rule: LimitRule::OnlyLower, fields }
    }
}

/// The outcome of the changes of an earlier replay. A replay repeats them from the
/// start, so only new changes need to go through the rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayCache(Vec<CachedChange>);

#[derive(Clone, Debug, PartialEq)]
struct CachedChange {
    change: DocumentChange,
    writes: Vec<(Mode, Document)>,
    exhausted: Option<GiveUpReason>,
}

/// The expected contents of the documents, and the changes that lead there.
pub(super) struct Ledger<'a> {
    cache: &'a mut ReplayCache,
    snapshot: Snapshot,
    session: SessionId,
    dialect: Dialect,
    now: Timestamp,
    limits: IterationLimits,
    changes: Vec<DocumentChange>,
}

impl<'a> Ledger<'a> {
    pub(super) fn new(
        spec: &RunSpec,
        context: &WorkflowContext,
        cache: &'a mut ReplayCache,
    ) -> Result<Self, Refusal> {
        let now = Timestamp::parse(&spec.started_at)
            .ok_or_else(|| Refusal::invalid_input("the run's start is not a timestamp"))?;
        Ok(Self {
            cache,
            snapshot: Snapshot::empty(Scope::Session(context.session.clone())),
            session: context.session.clone(),
            dialect: context.dialect,
            now,
            limits: IterationLimits::new(),
            changes: Vec::new(),
        })
    }

    /// The current phase of a mode.
    pub(super) fn phase(&self, mode: Mode) -> Option<String> {
        self.snapshot.documents.get(&mode)?.phase().map(str::to_owned)
    }

    /// The current iteration of a mode.
    pub(super) fn iteration(&self, mode: Mode) -> u64 {
        let document = self.snapshot.documents.get(&mode);
        document.and_then(|document| document.get_u64("iteration")).unwrap_or_default()
    }

    /// The iteration limit of a mode.
    pub(super) fn max_iterations(&self, mode: Mode) -> u64 {
        let document = self.snapshot.documents.get(&mode);
        document.and_then(|document| document.get_u64("max_iterations")).unwrap_or(u64::MAX)
    }

    /// Whether a mode's document is active.
    pub(super) fn is_active(&self, mode: Mode) -> bool {
        self.snapshot.active(mode).is_some()
    }

    /// Changes a document by the kernel's rules. Returns the exhaustion, if one ended it.
    pub(super) fn write(
        &mut self,
        mode: Mode,
        fields: Value,
    ) -> Result<Option<GiveUpReason>, Refusal> {
        let change = DocumentChange::new(mode, fields);
        let at = self.changes.len();
        if self.cache.0.get(at).is_none_or(|cached| cached.change != change) {
            let cached = self.apply_rules(change.clone())?;
            self.cache.0.truncate(at);
            self.cache.0.push(cached);
        }
        self.changes.push(change);
        let Some(cached) = self.cache.0.get(at) else { return Ok(None) };
        for (written, document) in &cached.writes {
            self.snapshot.documents.insert(*written, document.clone());
        }
        Ok(cached.exhausted.clone())
    }

    fn apply_rules(&self, change: DocumentChange) -> Result<CachedChange, Refusal> {
        let fields = parse_fields(&change.fields.to_string())?.into_fields();
        let request = WriteRequest::new(change.mode, Some(&self.session), fields)?;
        // The files that a document names exist, because the steps that wrote them are completed.
        let facts = FileFacts::assume(required_facts(&self.snapshot, &request).paths);
        let context = WriteContext {
            now: self.now,
            limits: &self.limits,
            facts: &facts,
            dialect: self.dialect,
        };
        let plan = plan_write(&self.snapshot, &request, context)?;
        let writes = plan.writes.into_iter().collect();
        Ok(CachedChange { change, writes, exhausted: plan.exhausted })
    }

    pub(super) fn into_changes(self) -> Vec<DocumentChange> {
        self.changes
    }
}

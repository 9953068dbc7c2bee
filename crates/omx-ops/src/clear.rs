//! Removes documents. A record stays of a run that was live or cancelled.

use std::path::PathBuf;

use omx_kernel::activity::{CANCEL_REMEMBERED_MILLIS, ClearedDocument};
use omx_kernel::{
    Document, DocumentStatus, GuardedAct, Mode, Refusal, RunEnding, Scope, SessionId, Timestamp,
    Value,
};
use omx_store::{
    EventKind, LockedStore, LogEvent, QuarantinedDocument, StateDir, StoreError, UnreadableDocument,
};

use crate::context::Context;
use crate::report;
use crate::request::{ClearSessions, StateClearRequest};

/// Removes documents in one scope, or in all.
pub fn state_clear(context: &Context<'_>, request: &StateClearRequest) -> Result<Value, Refusal> {
    let scope = match &request.sessions {
        ClearSessions::Own => context.scope(None)?,
        ClearSessions::One(session) => context.scope(Some(session))?,
        ClearSessions::All => Scope::Compatibility,
    };
    let store = context.store_for(request.project.as_deref())?;
    context.check_act(match request.sessions {
        ClearSessions::All => GuardedAct::OfPerson("clear every session"),
        _ => GuardedAct::InScope(store.root(), &scope),
    })?;
    let mut report = ClearReport { mode: request.mode, ..ClearReport::default() };
    if store.read()?.is_none() {
        return Ok(report.value());
    }
    let locked = context.lock(&store, "state clear")?;
    let mut scopes = vec![scope];
    if request.sessions == ClearSessions::All {
        scopes.extend(locked.state().sessions()?.into_iter().map(Scope::Session));
    }
    let is_meant = |mode: Mode| request.mode.is_none_or(|meant| meant == mode);
    // Refuse before removing anything.
    let mut reads = Vec::with_capacity(scopes.len());
    for scope in &scopes {
        let read = locked.scope(scope)?;
        let is_stuck = |found: &&UnreadableDocument| is_meant(found.mode) && !found.can_be_moved();
        let stuck = read.unreadable.iter().find(is_stuck);
        if let Some(refusal) = stuck.and_then(|found| read.refusal(found.mode)) {
            return Err(refusal);
        }
        reads.push(read);
    }
    let now = context.now();
    for (scope, read) in scopes.iter().zip(&reads) {
        for found in read.unreadable.iter().filter(|found| is_meant(found.mode)) {
            report.moved.extend(locked.quarantine(found, now)?);
        }
        let documents = read.snapshot.documents.iter().filter(|(mode, _)| is_meant(**mode));
        let documents: Vec<_> = documents.map(|(mode, document)| (*mode, document)).collect();
        remember(&locked, scope, &documents, now)?;
        for (mode, document) in documents {
            if locked.remove(scope, mode)? {
                report.removed.push(locked.state().document_path(scope, mode));
                report.events.push(event(context, scope, mode, document, now));
            }
        }
    }
    locked.log(&report.events);
    if request.mode.is_none() && scopes == [Scope::Compatibility] {
        report.active_sessions = active_sessions(locked.state(), now)?;
    }
    Ok(report.value())
}

/// The sessions with active modes. Who clears outside sessions may have meant one of them.
fn active_sessions(state: &StateDir, now: Timestamp) -> Result<Vec<SessionId>, Refusal> {
    let found = state.noteworthy_sessions(now)?.sessions;
    let active = found.iter().filter(|read| read.snapshot.active_modes().next().is_some());
    Ok(active.filter_map(|read| read.snapshot.scope.session().cloned()).collect())
}

/// Records what is about to be cleared, before it is: a late write of a cancelled run
/// must not revive it, and revision numbers must keep increasing.
pub(crate) fn remember(
    locked: &LockedStore,
    scope: &Scope,
    documents: &[(Mode, &Document)],
    now: Timestamp,
) -> Result<(), StoreError> {
    if documents.is_empty() {
        return Ok(());
    }
    let mut activity = locked.state().activity(scope);
    for (mode, document) in documents {
        // Whoever still works for a live document does not know that it is gone.
        let is_guarded = document.is_active()
            || document.status() == DocumentStatus::Ended(RunEnding::Cancelled);
        let until = Timestamp::from_millis(now.millis() + CANCEL_REMEMBERED_MILLIS);
        let revision = document.revision().max(activity.last_revision(mode.name()));
        let cleared = ClearedDocument { revision, cancelled_until: is_guarded.then_some(until) };
        activity.cleared.insert(mode.name().to_owned(), cleared);
    }
    locked.write_activity(scope, &activity, now)
}

fn event(
    context: &Context<'_>,
    scope: &Scope,
    mode: Mode,
    document: &Document,
    now: Timestamp,
) -> LogEvent {
    LogEvent::new(now, context.actor, EventKind::StateClear, scope)
        .with_team_of(document)
        .with_data([
            ("mode", Value::string(mode.name())),
            ("revision", Value::integer(document.revision())),
        ])
}

/// What was cleared.
#[derive(Default)]
struct ClearReport {
    mode: Option<Mode>,
    removed: Vec<PathBuf>,
    moved: Vec<QuarantinedDocument>,
    events: Vec<LogEvent>,
    active_sessions: Vec<SessionId>,
}

impl ClearReport {
    fn value(&self) -> Value {
        let count = u64::try_from(self.removed.len()).unwrap_or(u64::MAX);
        let paths = self.removed.iter().map(|path| report::path(path)).collect();
        report::with_lists(
            vec![
                ("cleared", Value::bool(true)),
                ("mode", self.mode.map_or_else(Value::null, |mode| Value::string(mode.name()))),
                ("removed", Value::integer(count)),
                ("paths", Value::array(paths)),
            ],
            [
                ("quarantined", report::quarantined(&self.moved)),
                (
                    "active_sessions",
                    Value::strings(self.active_sessions.iter().map(|id| id.as_str())),
                ),
            ],
        )
    }
}

//! Removes a mode's document. A record stays of a run that was live or cancelled.

use omx_kernel::activity::{CANCEL_REMEMBERED_MILLIS, ClearedDocument};
use omx_kernel::{
    Document, DocumentStatus, GuardedAct, Mode, Refusal, RunEnding, Scope, Timestamp, Value,
};
use omx_store::{
    EventKind, LockedStore, LogEvent, QuarantinedDocument, StoreError, UnreadableDocument,
};

use crate::context::Context;
use crate::report;
use crate::request::{ClearSessions, StateClearRequest};

/// Removes a mode's document in one scope, or in all.
pub fn state_clear(context: &Context<'_>, request: &StateClearRequest) -> Result<Value, Refusal> {
    let mode = request.mode;
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
    if store.read()?.is_none() {
        return Ok(answer(mode, &[], &[]));
    }
    let locked = context.lock(&store, "state clear")?;
    let mut scopes = vec![scope];
    if request.sessions == ClearSessions::All {
        scopes.extend(locked.state().sessions()?.into_iter().map(Scope::Session));
    }
    let now = context.now();
    let mut removed = Vec::new();
    let mut moved: Vec<QuarantinedDocument> = Vec::new();
    let mut events = Vec::new();
    // Refuse before removing anything.
    let mut reads = Vec::with_capacity(scopes.len());
    for scope in &scopes {
        let read = locked.scope(scope)?;
        let is_stuck = |found: &UnreadableDocument| found.mode == mode && !found.can_be_moved();
        if read.unreadable.iter().any(is_stuck)
            && let Some(refusal) = read.refusal(mode)
        {
            return Err(refusal);
        }
        reads.push(read);
    }
    for (scope, read) in scopes.iter().zip(&reads) {
        if let Some(found) = read.unreadable.iter().find(|found| found.mode == mode) {
            moved.extend(locked.quarantine(found, now)?);
            continue;
        }
        let Some(document) = read.snapshot.documents.get(&mode) else { continue };
        remember(&locked, scope, &[(mode, document)], now)?;
        if locked.remove(scope, mode)? {
            removed.push(locked.state().document_path(scope, mode));
            events.push(event(context, scope, mode, document, now));
        }
    }
    locked.log(&events);
    Ok(answer(mode, &removed, &moved))
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

fn answer(mode: Mode, removed: &[std::path::PathBuf], moved: &[QuarantinedDocument]) -> Value {
    let count = u64::try_from(removed.len()).unwrap_or(u64::MAX);
    report::with_lists(
        vec![
            ("cleared", Value::bool(true)),
            ("mode", Value::string(mode.name())),
            ("removed", Value::integer(count)),
            ("paths", Value::array(removed.iter().map(|path| report::path(path)).collect())),
        ],
        [("quarantined", report::quarantined(moved))],
    )
}

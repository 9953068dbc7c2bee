//! Ends active documents, in the order that their links require.

use omx_kernel::cancel::{CancelEntry, CancelTarget, plan_cancel, teams_in_scope};
use omx_kernel::{Mode, Refusal, RefusalCode, Scope, Value, message};
use omx_store::{
    EventKind, LockedStore, LogEvent, ScopeContents, StateDir, Store, StoreError,
    UnreadableDocument,
};

use super::report::CancelReport;
use super::runs::run_of;
use crate::context::Context;

/// Ends the active modes of these scopes, each in its required order. What cannot be
/// written is reported and stops nothing else; only a request that makes no sense is
/// refused.
pub(super) fn cancel_scopes(
    context: &Context<'_>,
    store: &Store,
    scopes: &[Scope],
    target: CancelTarget,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    // Check without the lock first, so that a cancel leaves an idle project untouched.
    let state = match store.read() {
        Ok(Some(state)) => state,
        Ok(None) => return Ok(()),
        Err(error) => {
            let refusal = Refusal::from(error);
            scopes.iter().for_each(|scope| report.fail(scope.clone(), refusal.clone()));
            return Ok(());
        }
    };
    let mut noteworthy = Vec::new();
    for scope in scopes {
        match state.scope(scope) {
            Ok(read) if read.is_noteworthy() => noteworthy.push(scope),
            Ok(_) => {}
            Err(error) => report.fail(scope.clone(), error.into()),
        }
    }
    if noteworthy.is_empty() {
        return Ok(());
    }
    let locked = match context.lock(store, "cancel") {
        Ok(locked) => locked,
        Err(refusal) => {
            noteworthy.iter().for_each(|scope| report.fail((*scope).clone(), refusal.clone()));
            return Ok(());
        }
    };
    for scope in noteworthy {
        match cancel_scope(context, (store, &locked), scope, target, DocumentFate::Kept, report) {
            Ok(()) => {}
            Err(refusal) if refusal.code == RefusalCode::LinkedMode => return Err(refusal),
            Err(refusal) => report.fail(scope.clone(), refusal),
        }
    }
    Ok(())
}

/// What becomes of cancelled documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentFate {
    /// They stay, and some of the runs can be resumed.
    Kept,
    /// They are about to be removed.
    Removed,
}

/// Ends the active modes of one scope. The caller holds the lock.
pub(super) fn cancel_scope(
    context: &Context<'_>,
    (store, locked): (&Store, &LockedStore),
    scope: &Scope,
    target: CancelTarget,
    fate: DocumentFate,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    let now = context.now();
    let read: ScopeContents = locked.scope(scope)?;
    let plan = plan_cancel(&read.snapshot, target, context.dialect, now)?;
    let is_meant = |mode: Mode| {
        matches!(target, CancelTarget::Everything) || target == CancelTarget::Mode(mode)
    };
    if let CancelTarget::Mode(mode) = target
        && read.unreadable.iter().any(|found| found.mode == mode && is_not_ours(found))
        && let Some(refusal) = read.refusal(mode)
    {
        return Err(refusal);
    }
    let run = run_of(scope).filter(|id| matches!(store.run(id), Ok(Some(_))));
    for mut entry in plan.entries {
        entry.preserved &= fate == DocumentFate::Kept;
        locked.write(scope, entry.mode, &entry.document)?;
        locked.log(&[event(context, scope, &entry)]);
        end_shared(context, locked, scope, entry.mode, report);
        let first_line = report.lines.len();
        report.lines.extend(message::format_cancelled(&entry, context.dialect, run.as_ref()));
        report.lines_of.push((scope.clone(), first_line..report.lines.len()));
        report.cancelled.push((scope.clone(), entry));
    }
    for found in read.unreadable.into_iter().filter(|found| is_meant(found.mode)) {
        // A document that cannot even be moved aside must not stop a cancel.
        match locked.quarantine(&found, now) {
            Ok(Some(moved)) => {
                report.lines.push(format!(
                    "Unreadable {} state moved to {}",
                    moved.mode.name(),
                    moved.path.display()
                ));
                report.quarantined.push(moved);
            }
            Ok(None) | Err(_) => {
                report.lines.push(format!("Left alone: {}", found.error));
                report.unreadable.push(found);
            }
        }
    }
    Ok(())
}

/// Handles what a mode keeps outside its document: reports teams, and removes the
/// marker of a swarm. Errors are ignored, because only the documents decide.
fn end_shared(
    context: &Context<'_>,
    locked: &LockedStore,
    scope: &Scope,
    mode: Mode,
    report: &mut CancelReport,
) {
    match mode {
        Mode::Swarm => {
            let _ = locked.remove_swarm_marker(scope);
        }
        Mode::Team => {
            for card in teams_in_scope(scope, locked.state().team_configs()) {
                let path = locked.state().team_path(&card.name);
                let path = path.to_string_lossy();
                report.lines.extend(message::format_team_report(
                    &card.name,
                    &path,
                    context.dialect,
                ));
                report.teams.push(card);
            }
        }
        _ => {}
    }
}

fn is_not_ours(found: &UnreadableDocument) -> bool {
    matches!(found.error, StoreError::Unsafe { .. })
}

/// Returns every scope that can be opened, and the errors of the others. An entry
/// that is not a session must not stop the cancel of the rest.
pub(super) fn every_scope(state: &StateDir) -> (Vec<Scope>, Vec<StoreError>) {
    let mut scopes = Vec::new();
    let mut closed = state.foreign_session_entries();
    match state.sessions() {
        Ok(sessions) => {
            for scope in sessions.into_iter().map(Scope::Session) {
                match state.scope(&scope) {
                    Ok(_) => scopes.push(scope),
                    Err(error) => closed.push(error),
                }
            }
        }
        Err(error) => closed.push(error),
    }
    scopes.push(Scope::Compatibility);
    (scopes, closed)
}

fn event(context: &Context<'_>, scope: &Scope, entry: &CancelEntry) -> LogEvent {
    LogEvent::new(context.now(), context.actor, EventKind::Cancel, scope)
        .with_team_of(&entry.document)
        .with_data([
            ("mode", Value::string(entry.mode.name())),
            ("revision", Value::integer(entry.document.revision())),
            ("phase", Value::string_or_null(entry.phase.as_deref())),
            ("linked_to", Value::string_or_null(entry.linked_to.map(Mode::name))),
        ])
}

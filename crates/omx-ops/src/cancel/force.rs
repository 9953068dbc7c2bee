//! Forced cancel: cancels every session, then removes all documents.

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Document, Mode, Refusal, Scope, Value};
use omx_store::{EventKind, LogEvent, Store};

use super::documents::{DocumentFate, cancel_scope, every_scope};
use super::report::CancelReport;
use crate::clear::remember;
use crate::context::Context;

/// Cancels the documents of every scope.
pub(super) fn cancel_everywhere(context: &Context<'_>, store: &Store, report: &mut CancelReport) {
    match store.read() {
        Ok(None) => return,
        Ok(Some(_)) => {}
        Err(error) => return report.fail(Scope::Compatibility, error.into()),
    }
    let locked = match context.lock(store, "cancel --force") {
        Ok(locked) => locked,
        Err(refusal) => return report.fail_scopes(store, &refusal),
    };
    // `remove_all_documents` reports what cannot be opened.
    let (scopes, _) = every_scope(locked.state());
    for scope in &scopes {
        let (target, fate) = (CancelTarget::Everything, DocumentFate::Removed);
        if let Err(refusal) = cancel_scope(context, (store, &locked), scope, target, fate, report) {
            report.fail(scope.clone(), refusal);
        }
    }
}

/// Removes every document, after the runs were ended.
pub(super) fn clear_everything(context: &Context<'_>, store: &Store, report: &mut CancelReport) {
    if let Err(refusal) = clear(context, store, report) {
        // What could not be written is named already.
        if report.unrecorded.is_empty() {
            report.fail(Scope::Compatibility, refusal);
        }
        return;
    }
    // What is removed need not be written.
    let is_gone = |scope: &Scope| match store.read() {
        Ok(Some(state)) => state.scope(scope).is_ok_and(|read| !read.is_noteworthy()),
        Ok(None) => true,
        Err(_) => false,
    };
    report.unrecorded.retain(|unrecorded| !is_gone(&unrecorded.scope));
}

fn clear(context: &Context<'_>, store: &Store, report: &mut CancelReport) -> Result<(), Refusal> {
    if store.read()?.is_none() {
        return Ok(());
    }
    let locked = context.lock(store, "cancel --force")?;
    let (scopes, _) = every_scope(locked.state());
    let now = context.now();
    for scope in &scopes {
        let Ok(read) = locked.scope(scope) else { continue };
        let documents: Vec<(Mode, &Document)> =
            read.snapshot.documents.iter().map(|(mode, document)| (*mode, document)).collect();
        // An unwritable record must not stop a forced cancel.
        let _ = remember(&locked, scope, &documents, now);
    }
    let swept = locked.remove_all_documents()?;
    let count = u64::try_from(swept.removed.len()).unwrap_or(u64::MAX);
    locked.log(&[LogEvent::new(now, context.actor, EventKind::Force, &Scope::Compatibility)
        .with_data([("removed", Value::integer(count))])]);
    for path in &swept.kept {
        report.lines.push(format!("Left alone: {}", path.display()));
    }
    report.removed = swept.removed;
    report.kept = swept.kept;
    Ok(())
}

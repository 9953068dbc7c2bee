//! Forced cancel: cancels every session, then removes all documents.

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Document, Mode, Refusal, Scope, Value};
use omx_store::{EventKind, LogEvent, Store};

use super::documents::{cancel_scope, every_scope};
use super::report::CancelReport;
use crate::clear::remember;
use crate::context::Context;

/// Cancels and removes everything under one lock.
pub(super) fn force(
    context: &Context<'_>,
    store: &Store,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    let locked = context.lock(store, "cancel --force")?;
    // `remove_all_documents` reports what cannot be opened.
    let (scopes, _) = every_scope(locked.state());
    for scope in &scopes {
        cancel_scope(context, &locked, scope, CancelTarget::Everything, report)?;
    }
    let now = context.now();
    for scope in &scopes {
        let read = locked.scope(scope)?;
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

//! Writes cancels that could not be written when they were requested.

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{RunId, Scope};
use omx_store::Store;

use super::documents::cancel_scopes;
use super::report::CancelReport;
use crate::context::Context;

/// Whether a scope was cancelled without a trace in its documents. If so, the cancel is
/// written now, before anything else uses the documents. If that fails again, the scope
/// counts as cancelled nevertheless.
pub(crate) fn settle_cancel(context: &Context<'_>, store: &Store, scope: &Scope) -> bool {
    if !store.is_marked_cancelled(scope) {
        return false;
    }
    let mut report = CancelReport::default();
    let target = CancelTarget::Everything;
    let written = cancel_scopes(context, store, std::slice::from_ref(scope), target, &mut report);
    let is_run = scope.session().is_some_and(|session| RunId::new(session.as_str()).is_ok());
    // A run's mark also tells its process; it stays until the person resumes the run.
    if written.is_ok() && report.unrecorded.is_empty() && !is_run {
        let _ = store.clear_cancel_mark(scope);
    }
    true
}

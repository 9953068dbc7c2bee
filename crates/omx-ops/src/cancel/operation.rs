//! Cancels: writes the documents, marks what could not be written, ends the processes
//! of the runs, and reports all three.

use std::time::Duration;

use omx_kernel::agent_acts::check_act;
use omx_kernel::cancel::CancelTarget;
use omx_kernel::{GuardedAct, Refusal, Scope, message};
use omx_store::Store;

use super::documents::{cancel_scopes, every_scope};
use super::force::{cancel_everywhere, clear_everything};
use super::report::CancelReport;
use super::request::{CancelBreadth, CancelRequest};
use super::runs::{end_runs, name_remains};
use super::scope::{
    Checked, left_over, nothing_lines, only_scope, select_session, waiting_elsewhere,
};
use super::settle::settle_cancel;
use crate::context::Context;

/// How long a cancel waits for the project's lock before it does without the documents.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// How long a cancel that nobody waits for tries to write the documents after all.
const FINISH_PATIENCE: Duration = Duration::from_secs(60);

/// Cancels. Every cancel goes through this function, whatever requests it. It ends
/// documents first, and then the processes of the runs they belong to. Documents that
/// cannot be written do not stop it: [`CancelReport::unrecorded`] names them.
pub fn cancel(context: &Context<'_>, request: &CancelRequest) -> Result<CancelReport, Refusal> {
    let lock_deadline = context.lock_deadline.min(LOCK_PATIENCE);
    let context = &Context { lock_deadline, ..context.clone() };
    let store = context.store_for(request.project.as_deref())?;
    let selected = select_session(context, &store, request)?;
    let request = selected.as_ref().unwrap_or(request);
    let own = check_agent(context, &store, request)?;
    let request = own.as_ref().unwrap_or(request);
    let mut report = CancelReport::default();
    match request.breadth {
        CancelBreadth::Force => {
            report.is_cleared = true;
            cancel_everywhere(context, &store, &mut report);
            end_runs(context, &store, request, None, &mut report);
            // A live run would write its documents again.
            if report.left_running.is_empty() {
                clear_everything(context, &store, &mut report);
            }
            name_remains(context, &store, &mut report);
        }
        CancelBreadth::EverySession => {
            let scopes = match store.read() {
                Ok(Some(state)) => {
                    let (scopes, closed) = every_scope(&state);
                    report.report_unopened(&closed);
                    scopes
                }
                Ok(None) => Vec::new(),
                Err(error) => {
                    report.fail(Scope::Compatibility, error.into());
                    Vec::new()
                }
            };
            cancel_scopes(context, &store, &scopes, CancelTarget::Everything, &mut report)?;
            end_runs(context, &store, request, None, &mut report);
            if report.is_empty() {
                let checked = Checked::Everywhere;
                let lines = nothing_lines(context, &store, checked, CancelTarget::Everything);
                report.lines.extend(lines);
            }
        }
        CancelBreadth::Finish => {
            cancel_one(context, &store, request, CancelTarget::Everything, &mut report)?;
            retry_unrecorded(context, &store, &report);
        }
        CancelBreadth::Scope(target) => {
            cancel_one(context, &store, request, target, &mut report)?;
        }
    }
    report.conclude(&store);
    if request.breadth == CancelBreadth::Force && report.unrecorded.is_empty() {
        report.lines.push(if report.left_running.is_empty() {
            message::format_all_cleared(context.dialect)
        } else {
            "The state is cleared as soon as these runs have stopped.".to_owned()
        });
    }
    Ok(report)
}

/// Checks a cancel by an agent: it cancels its own session and nothing else, also if it
/// names no session. Returns the request as it applies to an agent.
fn check_agent(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
) -> Result<Option<CancelRequest>, Refusal> {
    let Some(agent) = context.runs.calling_agent() else { return Ok(None) };
    let check = |act| check_act(Some(&agent), act);
    let scope = match request.breadth {
        CancelBreadth::Force | CancelBreadth::EverySession => {
            check(GuardedAct::OfPerson("cancel every session"))?;
            Scope::Compatibility
        }
        CancelBreadth::Scope(_) | CancelBreadth::Finish => {
            context.scope(request.session.as_ref())?
        }
    };
    check(GuardedAct::InScope(store.root(), &scope))?;
    let Some(session) = agent.context.as_ref().and_then(|context| context.session.clone()) else {
        // Without a session of its own, a cancel would be of somebody else's.
        return check(GuardedAct::OfPerson("cancel outside a session")).map(|()| None);
    };
    Ok(Some(CancelRequest { session: Some(session), ..request.clone() }))
}

/// Cancels one scope: the one that the request names, the caller's, or the only one
/// with active modes or a live run.
fn cancel_one(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
    target: CancelTarget,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    let (scope, chosen) = match context.scope(request.session.as_ref())? {
        Scope::Compatibility => (only_scope(store, target, report)?, Chosen::ByOmx),
        scope => (scope, Chosen::ByCaller),
    };
    cancel_scopes(context, store, std::slice::from_ref(&scope), target, report)?;
    end_runs(context, store, request, Some((&scope, target)), report);
    if let Some(failure) = report.only_failure() {
        return Err(failure);
    }
    if report.is_empty() {
        report.lines.extend(nothing_lines(context, store, Checked::Scope(&scope), target));
    } else if chosen == Chosen::ByOmx
        && target == CancelTarget::Everything
        && let Scope::Session(session) = &scope
        && let Ok(Some(state)) = store.read()
    {
        report.lines.extend(waiting_elsewhere(store, session));
        report.lines.extend(left_over(&state));
    }
    Ok(())
}

/// Writes what a hook could not, once the lock is free: nobody waits for the answer.
fn retry_unrecorded(context: &Context<'_>, store: &Store, report: &CancelReport) {
    let context = Context { lock_deadline: FINISH_PATIENCE, ..context.clone() };
    for unrecorded in &report.unrecorded {
        settle_cancel(&context, store, &unrecorded.scope);
    }
}

/// Who chose the scope of a cancel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// The request, or the caller's session. No other scope is considered.
    ByCaller,
    /// omx, because only one scope has active modes.
    ByOmx,
}

//! Ends active documents and the processes of their runs, and reports both.

use std::collections::BTreeSet;

use omx_kernel::agent_acts::check_act;
use omx_kernel::cancel::CancelTarget;
use omx_kernel::{GuardedAct, Refusal, Scope, SessionId, message};
use omx_store::Store;

use super::documents::{cancel_scopes, every_scope};
use super::force::force;
use super::report::CancelReport;
use super::request::{CancelBreadth, CancelRequest, RunProcesses};
use super::runs::{end_runs, wait_for_starting};
use super::scope::{Checked, left_over, nothing_lines, only_scope};
use crate::context::Context;

/// Cancels. Every cancel goes through this function, whatever requests it. It ends
/// documents first, and then the processes of the runs they belong to.
pub fn cancel(context: &Context<'_>, request: &CancelRequest) -> Result<CancelReport, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    let own = check_agent(context, &store, request)?;
    let request = own.as_ref().unwrap_or(request);
    let mut report = cancel_documents(context, &store, request)?;
    let finishes = request.breadth == CancelBreadth::Finish;
    if report.cancelled.is_empty() && request.runs == RunProcesses::Terminate && !finishes {
        let only = match request.breadth {
            CancelBreadth::Force | CancelBreadth::EverySession => Scope::Compatibility,
            _ => context.scope(request.session.as_ref())?,
        };
        if wait_for_starting(&store, only.session())? {
            report = cancel_documents(context, &store, request)?;
        }
    }
    let mut sessions: BTreeSet<SessionId> =
        report.cancelled.iter().filter_map(|(scope, _)| scope.session().cloned()).collect();
    if finishes {
        sessions.extend(request.session.clone());
    }
    if request.runs == RunProcesses::Terminate {
        end_runs(&store, &sessions, &mut report)?;
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

fn cancel_documents(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
) -> Result<CancelReport, Refusal> {
    let mut report = CancelReport::default();
    let state = store.read()?;
    match request.breadth {
        CancelBreadth::Force => {
            if state.is_some() {
                force(context, store, &mut report)?;
            }
            report.lines.push(message::format_all_cleared(context.dialect));
        }
        CancelBreadth::EverySession => {
            let (scopes, closed) = state.as_ref().map(every_scope).unwrap_or_default();
            report.report_unopened(&closed);
            cancel_scopes(context, store, &scopes, CancelTarget::Everything, &mut report)?;
            if report.cancelled.is_empty() {
                let checked = Checked::Everywhere;
                report.lines.extend(nothing_lines(
                    context,
                    store,
                    checked,
                    CancelTarget::Everything,
                ));
            }
        }
        CancelBreadth::Finish => {
            scope_documents(context, store, request, CancelTarget::Everything, &mut report)?
        }
        CancelBreadth::Scope(target) => {
            scope_documents(context, store, request, target, &mut report)?;
        }
    }
    Ok(report)
}

/// Cancels one scope: the one that the request names, the caller's, or the only one
/// with active modes.
fn scope_documents(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
    target: CancelTarget,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    let state = store.read()?;
    let (scope, chosen) = match (context.scope(request.session.as_ref())?, &state) {
        (Scope::Compatibility, Some(state)) => (only_scope(state, report)?, Chosen::ByOmx),
        (scope, _) => (scope, Chosen::ByCaller),
    };
    let scopes = if state.is_some() { vec![scope.clone()] } else { Vec::new() };
    cancel_scopes(context, store, &scopes, target, report)?;
    if report.cancelled.is_empty() {
        report.lines.extend(nothing_lines(context, store, Checked::Scope(&scope), target));
    } else if chosen == Chosen::ByOmx
        && scope != Scope::Compatibility
        && let Some(state) = &state
    {
        report.lines.extend(left_over(state));
    }
    Ok(())
}

/// Who chose the scope of a cancel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// The request, or the caller's session. No other scope is considered.
    ByCaller,
    /// omx, because only one scope has active modes.
    ByOmx,
}

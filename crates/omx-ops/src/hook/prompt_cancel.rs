//! Cancels what a prompt asks to cancel. A hook acts on the person's own prompt, so it may
//! reach every session; processes that have to be waited for are left to another process.

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Refusal, RefusalCode, SessionId, message};
use omx_prompt::{CallForm, CancelCall, CancelReach};

use super::is_driven;
use super::prompt::{CancelRest, PromptReply, Prompted};
use crate::cancel::{CancelBreadth, CancelRequest, RunProcesses, SessionOrigin};
use crate::context::Context;

/// Cancels, and says what was cancelled.
pub(super) fn cancel(
    context: &Context<'_>,
    session: &SessionId,
    call: CancelCall,
) -> Result<Prompted, Refusal> {
    let (breadth, session_id) = match call.reach {
        CancelReach::Session => {
            (CancelBreadth::Scope(CancelTarget::Everything), Some(session.clone()))
        }
        CancelReach::Mode(mode) => {
            (CancelBreadth::Scope(CancelTarget::Mode(mode)), Some(session.clone()))
        }
        CancelReach::EverySession => (CancelBreadth::EverySession, None),
        CancelReach::Force => (CancelBreadth::Force, None),
    };
    // A hook has no time to wait for a run's process; `CancelRest` reports that it is left.
    let runs = RunProcesses::Leave;
    let request = CancelRequest {
        project: None,
        session: session_id,
        origin: SessionOrigin::Own,
        id_prefix: None,
        breadth,
        runs,
    };
    let store = context.store()?;
    let report = match crate::cancel::cancel(context, &request) {
        Err(refusal) if !matches!(refusal.code, RefusalCode::Busy | RefusalCode::Io) => {
            let text = format!("Nothing was cancelled: {}.", refusal.message);
            let reply = PromptReply::for_both(context, &format!("{text} Tell the person."), &text);
            return Ok(Prompted::Replied(reply));
        }
        report => report?,
    };
    if report.is_empty() && breadth != CancelBreadth::Force {
        // "cancel everything" may mean something else where omx has nothing to cancel.
        if call.reach == CancelReach::EverySession && call.form == CallForm::Address {
            return Ok(Prompted::Nothing);
        }
        let text = message::format_nothing_active(context.dialect);
        return Ok(Prompted::Replied(PromptReply::for_both(context, &text, &text)));
    }
    let is_left = match breadth {
        CancelBreadth::Force | CancelBreadth::EverySession => !report.left_running.is_empty(),
        CancelBreadth::Scope(_) | CancelBreadth::Finish => is_driven(&store, session),
    };
    let is_unfinished = is_left || !report.teams.is_empty() || !report.unrecorded.is_empty();
    let rest = match breadth {
        _ if !is_unfinished => CancelRest::Nothing,
        CancelBreadth::Force => CancelRest::Force,
        CancelBreadth::EverySession => CancelRest::EverySession,
        CancelBreadth::Scope(_) | CancelBreadth::Finish => CancelRest::Session,
    };
    // Not every host knows omx's calls as commands of its own; `$name` is a prompt in all.
    let call = format!("Run {} to resume.", context.dialect.autopilot_command);
    let text = report.lines.join(" ").replace(&call, "Type $autopilot to resume.");
    let agent = format!("{text} The person cancelled: stop working on it.");
    Ok(Prompted::Cancelled { reply: PromptReply::for_both(context, &agent, &text), rest })
}

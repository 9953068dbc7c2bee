//! Approval requests: the policy decides, or else the person does.

use omx_agents::agent::{AgentCommand, ApprovalDecision};
use omx_agents::event::{ApprovalId, ApprovalRequest};
use omx_kernel::Timestamp;
use omx_kernel::approval::{Permission, READS_ONLY, permission_with_access};
use omx_runs::StepKey;
use omx_runs::progress::Progress;

use super::state::{PendingRequest, StepState};
use super::{Engine, RunEffect, progress};

/// How long to wait before retrying to raise a question.
const ASK_AGAIN_MS: u64 = 5_000;

impl Engine {
    /// An agent requests permission. An agent that is being ended gets no answer.
    pub(super) fn permission_requested(
        &mut self,
        key: &StepKey,
        approval: ApprovalId,
        ask: ApprovalRequest,
        out: &mut Vec<RunEffect>,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        if active.state != StepState::Talking {
            return;
        }
        let answer = |decision| {
            RunEffect::Command(key.clone(), AgentCommand::Answer(approval.clone(), decision))
        };
        match permission_with_access(active.step.seat.allow, active.step.access(), &ask) {
            Permission::Granted => out.push(answer(ApprovalDecision::Allow)),
            Permission::Refused => {
                out.push(answer(ApprovalDecision::Deny(READS_ONLY.to_owned())));
            }
            Permission::NeedsPerson => {
                let request = PendingRequest { ask: ask.clone(), retry_at: None };
                active.requests.insert(approval.clone(), request);
                out.push(RunEffect::Show(progress::needs_person(key, &ask)));
                out.push(RunEffect::AskPerson(key.clone(), approval, ask));
            }
        }
    }

    /// The question could not be raised: retry later.
    pub(super) fn ask_failed(
        &mut self,
        key: &StepKey,
        approval: &ApprovalId,
        why: &str,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        if let Some(request) = active.requests.get_mut(approval) {
            request.retry_at = Some(now.plus_millis(ASK_AGAIN_MS));
            let words = format!("{key}: the question cannot be stored: {why}; trying again");
            out.push(RunEffect::Show(Progress::Note(words.into())));
        }
    }

    pub(super) fn retry_requests(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        let talking = self.active.iter_mut().filter(|(_, it)| it.state == StepState::Talking);
        for (key, active) in talking {
            for (approval, request) in &mut active.requests {
                if request.retry_at.is_some_and(|at| at <= now) {
                    request.retry_at = None;
                    let (key, ask) = (key.clone(), request.ask.clone());
                    out.push(RunEffect::AskPerson(key, approval.clone(), ask));
                }
            }
        }
    }

    /// The person answered. The answer may be late, or a second one.
    pub(super) fn person_answered(
        &mut self,
        key: &StepKey,
        approval: ApprovalId,
        decision: ApprovalDecision,
        out: &mut Vec<RunEffect>,
    ) {
        if let Some(active) = self.active.get_mut(key)
            && active.state == StepState::Talking
            && active.requests.remove(&approval).is_some()
        {
            let answer = AgentCommand::Answer(approval, decision);
            out.push(RunEffect::Command(key.clone(), answer));
        }
    }
}

//! Handles what agents report.

use omx_agents::agent::{AgentCommand, AgentMessage, MessageLabels};
use omx_agents::event::{AgentEvent, TurnAnswer};
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::results;
use omx_kernel::Timestamp;
use omx_kernel::retry::FailureSeries;
use omx_runs::progress::Progress;
use omx_runs::{Record, StepKey, Usage};

use super::budget::settle_estimate;
use super::state::{ActiveStep, AfterEnd, KnownConversation, StepState};
use super::{Engine, RunEffect, progress};
use crate::workflow::StepKind;

impl Engine {
    pub(super) fn agent_event(
        &mut self,
        key: &StepKey,
        event: AgentEvent,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        let is_news = active.state == StepState::Talking && !active.conversation.is_delivered;
        if is_news && proves_delivery(&event) {
            active.conversation.is_delivered = true;
            // Usage has its own record, which proves delivery as well.
            if !matches!(event, AgentEvent::Usage(_)) {
                out.push(RunEffect::Record(Record::Delivered { step: key.clone() }));
            }
        }
        if shows_progress(&event) {
            active.failures = FailureSeries::default();
        }
        if ends_turn(&event) {
            settle_estimate(key, active, &mut self.usage, out);
        }
        match event {
            AgentEvent::Started { conversation, model } => {
                if active.conversation.id.as_ref() != Some(&conversation) {
                    out.push(RunEffect::Record(Record::Conversation {
                        step: key.clone(),
                        agent: active.step.seat.agent.as_str().to_owned(),
                        id: conversation.to_string(),
                    }));
                    active.conversation =
                        KnownConversation { id: Some(conversation), is_delivered: false };
                    active.lost = None;
                }
                if let Some(model) = model {
                    active.model = Some(model.clone());
                    out.push(RunEffect::Show(Progress::Model {
                        step: key.clone(),
                        model: model.into(),
                    }));
                }
                send_opening_message(key, active, out);
            }
            // Some programs report the conversation's id only after the first message.
            AgentEvent::Listening => send_opening_message(key, active, out),
            AgentEvent::TurnFinished(answer) => self.turn_finished(key, &answer, out, now),
            AgentEvent::TurnFailed(failure) => self.agent_failed(key, failure, out, now),
            AgentEvent::Ended(failure) => self.agent_ended(key, failure, out, now),
            AgentEvent::ApprovalNeeded { approval, ask } => {
                self.permission_requested(key, approval, ask, out);
            }
            AgentEvent::Usage(usage) => {
                let usage = self.priced(key, journal_usage(usage));
                self.usage.add(usage);
                out.push(RunEffect::Record(Record::Usage { step: key.clone(), usage }));
                out.push(RunEffect::Show(Progress::Usage(self.usage)));
                self.require_price(key, usage, out, now);
                self.enforce_budget(out, now);
            }
            AgentEvent::Retrying(failure) => {
                out.push(RunEffect::Show(progress::failure(key, &failure)));
            }
            AgentEvent::Text(text) => {
                out.push(RunEffect::Show(Progress::Said { step: key.clone(), text: text.into() }));
            }
            AgentEvent::ToolStarted { tool, .. } => {
                out.push(RunEffect::Show(progress::tool(key, &tool)));
            }
            // The engine never interrupts a turn, so the agent did it by itself.
            AgentEvent::TurnInterrupted => {
                let cause = FailureCause::CutOff { detail: "the turn was interrupted".to_owned() };
                let failure = Failure::new(active.step.seat.agent, cause);
                self.agent_failed(key, failure, out, now);
            }
            AgentEvent::Delivered(_)
            | AgentEvent::ToolFinished { .. }
            | AgentEvent::FileChanged(_) => {}
        }
    }

    /// A turn is over. Its answer counts if it is a result of the requested kind.
    fn turn_finished(
        &mut self,
        key: &StepKey,
        answer: &TurnAnswer,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        let StepKind::Agent(agent) = &active.step.kind else { return };
        if active.state != StepState::Talking {
            return;
        }
        match results::parse(agent.wants, answer) {
            Ok(result) => {
                let result = serde_json::to_value(&result).unwrap_or_default();
                active.state = StepState::Ending(AfterEnd::Commit(result));
                out.push(RunEffect::Command(key.clone(), AgentCommand::End));
            }
            Err(problem) if !active.is_corrected => {
                active.is_corrected = true;
                let words = problem.retry_prompt();
                let note = format!("{key}: {problem}; asking again");
                out.push(RunEffect::Show(Progress::Note(note.into())));
                out.push(send(key, active, words));
            }
            Err(problem) => {
                let words =
                    format!("{key} gave no usable result, even when asked again: {problem}");
                self.step_failed(key, &words, out, now);
            }
        }
    }

    /// The agent and all its processes have exited.
    fn agent_ended(
        &mut self,
        key: &StepKey,
        failure: Option<Failure>,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get(key) else { return };
        match active.state.clone() {
            StepState::Ending(AfterEnd::Commit(result)) => self.commit(key, result, out),
            StepState::Ending(AfterEnd::Rest(wait)) => {
                self.set_state(key, StepState::Resting(wait));
            }
            StepState::Ending(AfterEnd::Reopen) => self.reopen(key, out),
            StepState::Ending(AfterEnd::Drop) => self.drop_step(key, out, now),
            StepState::Opening(_) | StepState::Talking => {
                let cause = FailureCause::Crashed { code: None, stderr: String::new() };
                let failure =
                    failure.unwrap_or_else(|| Failure::new(active.step.seat.agent, cause));
                self.agent_failed(key, failure, out, now);
                // The agent has already exited, so no other `Ended` will follow.
                self.agent_ended(key, None, out, now);
            }
            StepState::Resting(_)
            | StepState::Retrying(..)
            | StepState::Inspecting
            | StepState::Working
            | StepState::Committing(_) => {}
        }
    }
}

/// Converts an agent's usage to the journal's format.
pub(crate) fn journal_usage(usage: omx_agents::event::UsageDelta) -> Usage {
    let (input, output) = (usage.input_tokens, usage.output_tokens);
    Usage { input, output, micro_usd: usage.micro_usd }
}

/// Whether an agent reports this only after it received its task.
fn proves_delivery(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Text(_)
        | AgentEvent::ToolStarted { .. }
        | AgentEvent::ToolFinished { .. }
        | AgentEvent::FileChanged(_)
        | AgentEvent::ApprovalNeeded { .. }
        | AgentEvent::Usage(_)
        | AgentEvent::TurnFinished(_) => true,
        AgentEvent::Started { .. }
        | AgentEvent::Listening
        | AgentEvent::Delivered(_)
        | AgentEvent::Retrying(_)
        | AgentEvent::TurnInterrupted
        | AgentEvent::TurnFailed(_)
        | AgentEvent::Ended(_) => false,
    }
}

/// Whether an agent has got something done, so that failures before do not add up
/// with failures after. Text does not count: a failing service may repeat it forever.
fn shows_progress(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::ToolFinished { .. } | AgentEvent::FileChanged(_) | AgentEvent::TurnFinished(_)
    )
}

fn ends_turn(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::TurnFinished(_)
            | AgentEvent::TurnFailed(_)
            | AgentEvent::TurnInterrupted
            | AgentEvent::Ended(_)
    )
}

/// Sends the message for which the conversation was opened.
fn send_opening_message(key: &StepKey, active: &mut ActiveStep, out: &mut Vec<RunEffect>) {
    if let StepState::Opening(message) = active.state.clone() {
        active.state = StepState::Talking;
        out.push(send(key, active, message));
    }
}

/// Sends a message that the agent answers with the step's result.
fn send(key: &StepKey, active: &ActiveStep, text: String) -> RunEffect {
    let (schema, role) = match &active.step.kind {
        StepKind::Agent(agent) => (Some(agent.wants.schema()), Some(agent.role.clone())),
        StepKind::Check | StepKind::Job(_) => (None, None),
    };
    let (phase, step) = (Some(active.step.phase.clone()), Some(key.to_string()));
    let labels = MessageLabels { role, phase, step };
    RunEffect::Command(key.clone(), AgentCommand::Send(AgentMessage { text, schema, labels }))
}

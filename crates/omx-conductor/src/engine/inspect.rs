//! Finds out what became of a step's task before the task is sent again. The journal may not
//! know: omx can be killed after the agent received the task and before that was recorded.

use omx_agents::ConversationRecord;
use omx_kernel::Timestamp;
use omx_kernel::confinement::WorkspaceAccess;
use omx_runs::progress::Progress;
use omx_runs::{Record, StepKey, WorkspaceState};

use super::open::{rerun_decision, skip_decision};
use super::state::{ActiveStep, KnownConversation, StepState};
use super::{Engine, Job, RunEffect, RunOutcome};
use crate::prompts;
use crate::workflow::StepKind;

/// What was found out about an interrupted step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// What the agent program's own record says about the task.
    pub record: ConversationRecord,
    /// The workspace, compared with what it was before the step.
    pub workspace: WorkspaceState,
}

impl Inspection {
    /// The inspection failed, so the step may have changed anything.
    pub const FAILED: Self =
        Self { record: ConversationRecord::Unknown, workspace: WorkspaceState::MayHaveChanged };
}

/// What an interrupted step continues with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextMessage {
    /// The task, which the agent did not receive.
    Task,
    /// The task, which the agent may have received.
    TaskAgain,
    /// The request to continue: the agent has its task.
    Resume,
}

/// What follows from an inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Continuation {
    /// Continue the conversation.
    Send(NextMessage),
    /// The conversation is lost, and nothing of the step is done.
    BeginAgain,
    /// The conversation is lost, and only the person knows how much of the step is done.
    AskDecision,
}

impl Engine {
    /// Continues a step whose agent is not running. What became of its task is looked up
    /// first, unless the journal knows it.
    pub(super) fn reopen(&mut self, key: &StepKey, out: &mut Vec<RunEffect>) {
        let Some(active) = self.active.get(key) else { return };
        let conversation = &active.conversation;
        if active.lost.is_some() || (conversation.id.is_some() && !conversation.is_delivered) {
            return self.inspect(key, out);
        }
        self.open_for(key, usual_message(conversation), out);
    }

    /// Looks up what became of a step's task.
    pub(super) fn inspect(&mut self, key: &StepKey, out: &mut Vec<RunEffect>) {
        let Some(active) = self.active.get(key) else { return };
        let StepKind::Agent(agent) = &active.step.kind else { return };
        let job = Job::Inspect {
            agent: active.step.seat.agent,
            conversation: active.conversation.id.clone(),
            message: prompts::opening(&self.spec),
            access: agent.access(),
        };
        self.set_state(key, StepState::Inspecting);
        self.note_waiting(out);
        out.push(RunEffect::StartJob(key.clone(), job));
    }

    /// It is known what became of a step's task.
    pub(super) fn inspected(
        &mut self,
        key: &StepKey,
        found: &Inspection,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get_mut(key) else { return };
        match continuation(active, found) {
            Continuation::Send(message) => {
                let is_news = !active.conversation.is_delivered;
                if message == NextMessage::Resume && is_news {
                    active.conversation.is_delivered = true;
                    out.push(RunEffect::Record(Record::Delivered { step: key.clone() }));
                }
                self.open_for(key, message, out);
            }
            Continuation::BeginAgain => {
                let why = active.lost.take().unwrap_or_else(|| LOST.to_owned());
                active.conversation = KnownConversation::default();
                let (step, input) = (key.clone(), active.input.clone());
                out.push(RunEffect::Show(Progress::Note(format!("{key} begins again").into())));
                out.push(RunEffect::Record(Record::StepDiscarded { step: key.clone(), why }));
                let tree = match &found.workspace {
                    WorkspaceState::AsBefore { tree } => Some(tree.clone()),
                    WorkspaceState::MayHaveChanged | WorkspaceState::NotCompared => None,
                };
                out.push(RunEffect::Record(Record::StepStarted { step, input, tree }));
                self.open_for(key, NextMessage::Task, out);
            }
            Continuation::AskDecision => {
                let why = active.lost.clone().unwrap_or_else(|| LOST.to_owned());
                let words = format!(
                    "{why}; nobody knows how much of {key} is done. Look at the folder, then \
                     {} or {}",
                    rerun_decision(key),
                    skip_decision(key)
                );
                if let Some(active) = self.active.remove(key) {
                    self.interrupted.insert(key.clone(), active.into_interrupted());
                }
                self.stop(RunOutcome::Blocked(words), out, now);
            }
        }
    }

    /// Opens the step's conversation for this message.
    pub(super) fn open_for(
        &mut self,
        key: &StepKey,
        message: NextMessage,
        out: &mut Vec<RunEffect>,
    ) {
        let Some(active) = self.active.get(key) else { return };
        let StepKind::Agent(agent) = &active.step.kind else { return };
        let text = match message {
            NextMessage::Task => prompts::task(&self.spec, &self.completed, agent),
            NextMessage::TaskAgain => prompts::task_again(&self.spec, &self.completed, agent),
            NextMessage::Resume => prompts::resume(agent.wants),
        };
        let spec = self.conversation(&active.step, agent, &active.conversation);
        if let Some(active) = self.active.get_mut(key) {
            active.state = StepState::Opening(text);
            active.requests.clear();
        }
        self.note_waiting(out);
        out.push(RunEffect::OpenAgent(key.clone(), spec));
    }
}

/// Why a conversation is gone that its program has no content of.
const LOST: &str = "the agent's own record of the conversation is empty";

/// The message with which a conversation continues, as far as the journal knows it.
pub(super) fn usual_message(conversation: &KnownConversation) -> NextMessage {
    match (&conversation.id, conversation.is_delivered) {
        (Some(_), true) => NextMessage::Resume,
        // Another agent received the task and may have done part of it.
        (Some(_), false) | (None, true) => NextMessage::TaskAgain,
        (None, false) => NextMessage::Task,
    }
}

fn continuation(active: &ActiveStep, found: &Inspection) -> Continuation {
    let is_reader = active.step.access() == WorkspaceAccess::ReadOnly;
    let is_untouched = is_reader || matches!(found.workspace, WorkspaceState::AsBefore { .. });
    let is_delivered = active.conversation.is_delivered;
    if active.lost.is_some() || found.record == ConversationRecord::Empty {
        // Programs keep a message before they act on it. Without any trace of it, only files
        // that changed show that the step did something.
        let has_no_trace = !is_delivered && found.workspace == WorkspaceState::NotCompared;
        return match is_untouched || has_no_trace {
            true => Continuation::BeginAgain,
            false => Continuation::AskDecision,
        };
    }
    Continuation::Send(match found.record {
        ConversationRecord::Received => NextMessage::Resume,
        ConversationRecord::NotReceived if !is_delivered => NextMessage::Task,
        _ => usual_message(&active.conversation),
    })
}

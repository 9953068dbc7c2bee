//! The state of a run's engine.

use std::collections::BTreeMap;

use omx_agents::agent::ConversationId;
use omx_agents::event::{ApprovalId, ApprovalRequest};
use omx_kernel::Timestamp;
use omx_kernel::retry::FailureSeries;
use omx_runs::{RunSpec, StepKey, Usage};
use serde_json::Value;

use super::RunOutcome;
use super::document::DocumentQueue;
use crate::workflow::{CompletedSteps, NextAction, ReplayCache, Step, WorkflowContext};

/// The engine of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    pub(super) spec: RunSpec,
    pub(super) context: WorkflowContext,
    pub(super) completed: CompletedSteps,
    pub(super) replay_cache: ReplayCache,
    /// Steps that were started and not finished, by an earlier process or before the run
    /// was stopped.
    pub(super) interrupted: BTreeMap<StepKey, InterruptedStep>,
    pub(super) active: BTreeMap<StepKey, ActiveStep>,
    pub(super) usage: Usage,
    /// Milliseconds that earlier processes worked on the run.
    pub(super) worked_before: u64,
    pub(super) opened_at: Timestamp,
    pub(super) documents: DocumentQueue,
    /// What follows once the documents are written.
    pub(super) next: Option<NextAction>,
    /// Why the run is stopping.
    pub(super) stopping: Option<RunOutcome>,
    /// Why the workspace is not what the journal says, if the person must decide.
    pub(super) missing_work: Option<String>,
    /// Whether the workflow has ended and its last document changes say so.
    pub(super) ended_by_workflow: bool,
    /// The person interrupted the run, whatever else stops it.
    pub(super) is_interrupted: bool,
    /// The wait that the run's document names.
    pub(super) waiting: Option<Wait>,
    /// Whether writing the journal has failed.
    pub(super) journal_failed: bool,
    /// Whether the document changes that end the run are queued.
    pub(super) is_closing: bool,
    pub(super) closed: bool,
}

/// A step in progress.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActiveStep {
    pub(super) step: Step,
    pub(super) input: String,
    pub(super) state: StepState,
    pub(super) conversation: KnownConversation,
    /// Why the agent's program does not have the conversation any longer.
    pub(super) lost: Option<String>,
    /// The model, if it is known.
    pub(super) model: Option<String>,
    /// The price of tokens whose real cost the agent reports at the end of its turn, in
    /// millionths of a US dollar.
    pub(super) estimate: u64,
    /// Failures of services since the agent last got something done.
    pub(super) failures: FailureSeries,
    /// How often the agent broke and was reopened.
    pub(super) reopenings: u32,
    /// How often a job found a resource in use.
    pub(super) busy_jobs: u32,
    /// Whether the agent was already asked to correct its result.
    pub(super) is_corrected: bool,
    /// Approval requests that wait for the person.
    pub(super) requests: BTreeMap<ApprovalId, PendingRequest>,
    /// The wait that ended because the run is being stopped.
    pub(super) rest: Option<Wait>,
}

impl ActiveStep {
    pub(super) fn new(step: Step, input: String, state: StepState) -> Self {
        let model = step.seat.model.clone();
        Self {
            step,
            input,
            state,
            model,
            estimate: 0,
            conversation: KnownConversation::default(),
            lost: None,
            failures: FailureSeries::default(),
            reopenings: 0,
            busy_jobs: 0,
            is_corrected: false,
            requests: BTreeMap::new(),
            rest: None,
        }
    }

    /// What the journal knows about the step, for a later attempt.
    pub(super) fn into_interrupted(self) -> InterruptedStep {
        let rest = match self.state {
            StepState::Resting(wait) => Some(wait),
            _ => self.rest,
        };
        InterruptedStep { input: self.input, conversation: self.conversation, rest }
    }
}

/// An approval request that waits for the person.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingRequest {
    pub(super) ask: ApprovalRequest,
    /// When to retry raising the question, if that failed.
    pub(super) retry_at: Option<Timestamp>,
}

/// The progress of a step.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum StepState {
    /// What became of the step's task is looked up.
    Inspecting,
    /// The conversation is being opened; this is its first message.
    Opening(String),
    /// The agent works.
    Talking,
    /// The agent or job is being ended; this follows.
    Ending(AfterEnd),
    /// Nothing runs until the wait ends.
    Resting(Wait),
    /// The step's own job runs.
    Working,
    /// The step's work is being committed; this is its result.
    Committing(Value),
    /// A job found a resource in use and restarts at this time. Holds the step's
    /// result if the job is its commit.
    Retrying(Timestamp, Option<Value>),
}

/// When a wait ends, and its reason.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wait {
    pub(super) until: Timestamp,
    pub(super) what: &'static str,
}

/// What follows after an agent has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AfterEnd {
    Commit(Value),
    Rest(Wait),
    Reopen,
    Drop,
}

/// What is known about a step's conversation.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct KnownConversation {
    pub(super) id: Option<ConversationId>,
    /// Whether the agent has shown that it received its task. Before that, the task
    /// may never have been sent, or the program may not have stored it.
    pub(super) is_delivered: bool,
}

/// A step that was started and not finished.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct InterruptedStep {
    pub(super) input: String,
    pub(super) conversation: KnownConversation,
    /// The wait that the run was stopped in. It applies again if the run continues after
    /// all; another process tries at once, because the person resumed the run.
    pub(super) rest: Option<Wait>,
}

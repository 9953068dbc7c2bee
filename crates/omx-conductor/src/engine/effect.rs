//! The effects of a run.

use std::sync::Arc;

use omx_agents::AgentKind;
use omx_agents::agent::{AgentCommand, ConversationId, ConversationStart};
use omx_agents::event::{ApprovalId, ApprovalRequest};
use omx_kernel::confinement::WorkspaceAccess;
use omx_runs::progress::Progress;
use omx_runs::{LimitRequestId, Record, StepEdits, StepKey};
use serde_json::Value;

use super::RunOutcome;
use crate::workflow::{DocumentChange, Seat};

/// An output of the engine. Effects are carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEffect {
    /// Append to the journal and flush it before carrying out any later effect.
    Record(Record),
    /// Find the documents that an earlier process left active.
    FindLeftovers,
    /// Write a change of a document.
    WriteDocument(DocumentChange),
    /// Cancel the documents that are still active.
    CancelDocuments,
    /// Open a conversation with an agent.
    OpenAgent(StepKey, StepConversation),
    /// Send a command to an agent.
    Command(StepKey, AgentCommand),
    /// Start a job.
    StartJob(StepKey, Job),
    /// Stop a running job.
    StopJob(StepKey),
    /// Ask the person for a permission that the policy does not grant.
    AskPerson(StepKey, ApprovalId, ApprovalRequest),
    /// Remove a limit request, whose limits are in the journal.
    CloseLimitRequest(LimitRequestId),
    /// Show progress.
    Show(Progress),
    /// Close the run.
    Close(RunOutcome),
}

/// Something omx does itself for a step.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// Run the project's check.
    Check {
        /// The command line.
        command: String,
    },
    /// Keep a plan in the project.
    KeepPlan {
        /// The plan, as its step produced it.
        plan: Value,
    },
    /// Find out what became of a step's task.
    Inspect {
        /// The agent that has the conversation.
        agent: AgentKind,
        /// The conversation, if it is known.
        conversation: Option<ConversationId>,
        /// The beginning of the task, as it was sent.
        message: String,
        /// What the step may do to the workspace. One that only reads leaves it as it was.
        access: WorkspaceAccess,
    },
    /// Take care of the step's changes, and hash the workspace's content.
    Commit {
        /// What becomes of the changes.
        edits: StepEdits,
    },
}

/// A conversation to open for a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepConversation {
    /// A new conversation, or the one to resume.
    pub start: ConversationStart,
    /// The agent, with its model, permissions and workspace.
    pub seat: Arc<Seat>,
    /// What the agent may do to the files of the workspace.
    pub access: WorkspaceAccess,
    /// The role.
    pub role: String,
    /// The phase of the step's mode.
    pub phase: String,
    /// What is left of the budget of money, in millionths of a US dollar.
    pub max_micro_usd: Option<u64>,
    /// The schema of the answer.
    pub schema: Value,
}

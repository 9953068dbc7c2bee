//! What a run has to do next.

use std::sync::Arc;

use omx_agents::agent::{AgentCommand, ConversationStart};
use omx_agents::event::{ApprovalId, ApprovalRequest};
use omx_runs::progress::Progress;
use omx_runs::{Record, StepKey};
use serde_json::Value;

use super::RunOutcome;
use crate::workflow::{DocumentChange, Seat};

/// An output of the engine. Effects are carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEffect {
    /// Append to the journal and flush it before carrying out anything after this.
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
    /// Start a job of omx's own.
    StartJob(StepKey, Job),
    /// Stop a job that is running.
    StopJob(StepKey),
    /// Ask the person for a permission that the policy does not give.
    AskPerson(StepKey, ApprovalId, ApprovalRequest),
    /// Show progress.
    Show(Progress),
    /// Let go of the run.
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
    /// Commit the step's work where the branch is the run's own, and hash the
    /// content of the workspace.
    Commit {
        /// The commit message; none for steps that change nothing.
        message: Option<String>,
    },
}

/// A conversation to open for a step.
#[derive(Clone, Debug, PartialEq)]
pub struct StepConversation {
    /// A new conversation, or the one to resume.
    pub start: ConversationStart,
    /// Which agent, with which model and permissions, in which workspace.
    pub seat: Arc<Seat>,
    /// The role.
    pub role: String,
    /// The phase of the step's mode.
    pub phase: String,
    /// The schema of the answer.
    pub schema: Value,
}

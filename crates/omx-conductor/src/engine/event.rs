//! What can happen to a run.

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{AgentEvent, ApprovalId};
use omx_kernel::Mode;
use omx_runs::{Record, StepKey};

use crate::workflow::{CheckResult, KeptPlan};

/// An input of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A process opened the run.
    Opened {
        /// The program's version.
        version: String,
        /// What opening the run adds to its journal.
        changes: Vec<Record>,
    },
    /// An agent reported something.
    Agent(StepKey, AgentEvent),
    /// A job ended, or could not be started.
    JobDone(StepKey, Result<JobResult, JobFailure>),
    /// The documents that an earlier process left active.
    LeftoversFound(Result<Vec<Mode>, DocumentFailure>),
    /// The pending change of a document was written, or was not.
    DocumentWritten(Result<(), DocumentFailure>),
    /// The journal cannot be written. What followed the record was not carried out.
    JournalFailed(String),
    /// A question could not be put to the person.
    AskFailed(StepKey, ApprovalId, String),
    /// The person answered an approval request.
    Answered(StepKey, ApprovalId, ApprovalDecision),
    /// The person wants the run to stop here.
    Interrupted,
    /// The run was cancelled: its documents say so.
    Cancelled,
    /// Time has passed.
    Time,
}

/// What a job produced.
#[derive(Clone, Debug, PartialEq)]
pub enum JobResult {
    /// The check ran to its end.
    Checked(CheckResult),
    /// The plan is in the project.
    PlanKept(KeptPlan),
    /// The step's work is committed where the branch is the run's own. The hash
    /// of the workspace's content, if it is a git checkout.
    Committed(Option<String>),
}

/// Why a job produced nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// Another process holds what the job needs; a later attempt can succeed.
    Busy(String),
    /// The job failed.
    Failed(String),
    /// The job was never started: the run is being stopped.
    NotStarted,
}

/// Why a document was not written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentFailure {
    /// Another process holds the project's lock.
    Busy(String),
    /// The documents say that the run is cancelled.
    Cancelled,
    /// A rule refuses the change; it would refuse it again.
    Refused(String),
    /// The file system failed; a later attempt can succeed.
    Failed(String),
}

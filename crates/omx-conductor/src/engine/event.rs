//! The events of a run.

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{AgentEvent, ApprovalId};
use omx_kernel::Mode;
use omx_runs::git::StepCommit;
use omx_runs::{LimitChange, LimitRequestId, Record, StepKey};

use super::Inspection;
use crate::workflow::{CheckResult, KeptPlan};

/// An input of the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum RunEvent {
    /// A process opened the run.
    Opened {
        /// The program's version.
        version: String,
        /// The records that opening the run adds to its journal.
        changes: Vec<Record>,
    },
    /// An agent reported something.
    Agent(StepKey, AgentEvent),
    /// A job ended, or could not be started.
    JobDone(StepKey, Result<JobResult, JobFailure>),
    /// The search for documents that an earlier process left active has ended.
    LeftoversFound(Result<Vec<Mode>, DocumentFailure>),
    /// The pending document change was written, or failed.
    DocumentWritten(Result<(), DocumentFailure>),
    /// The journal cannot be written. Effects after the record were not carried out.
    JournalFailed(String),
    /// A question could not be raised.
    AskFailed(StepKey, ApprovalId, String),
    /// The person answered an approval request.
    Answered(StepKey, ApprovalId, ApprovalDecision),
    /// The person changed the run's limits.
    LimitsRequested(LimitRequestId, LimitChange),
    /// The person interrupted the run.
    Interrupted,
    /// The disk is nearly full, in words for people.
    DiskFull(String),
    /// The run was cancelled, according to its documents.
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
    /// What became of a step's task.
    Inspected(Inspection),
    /// The step's changes are committed, kept or discarded.
    Committed(StepCommit),
}

/// Why a job produced no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// Another process holds a resource that the job needs; a retry can succeed.
    Busy(String),
    /// The job failed.
    Failed(String),
    /// The job was ended from outside before it had a result.
    Interrupted(String),
    /// The job was never started because the run is stopping.
    NotStarted,
}

/// Why a document was not written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentFailure {
    /// Another process holds the project's lock.
    Busy(String),
    /// The documents say that the run is cancelled.
    Cancelled,
    /// A rule refuses the change; a retry cannot succeed.
    Refused(String),
    /// The file system failed; a retry can succeed.
    Failed(String),
    /// The file system has no room left; a retry can succeed once it has.
    DiskFull(String),
}

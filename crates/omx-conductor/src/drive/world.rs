//! The interface between a run's loop and everything outside it.

use omx_agents::AgentEvent;
use omx_agents::agent::{AgentCommand, ApprovalDecision};
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::Failure;
use omx_kernel::{Mode, Timestamp};
use omx_runs::progress::Progress;
use omx_runs::{LimitChange, LimitRequestId, Record, StepKey};

use crate::engine::{DocumentFailure, Job, JobFailure, JobResult, StepConversation};
use crate::workflow::DocumentChange;

/// Everything outside the loop of a run. A method carries out one effect and reports
/// whether it succeeded; it decides nothing. Only [`wait`](World::wait) blocks.
pub trait World {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Appends to the journal and flushes it.
    fn append(&mut self, record: &Record) -> Result<(), String>;

    /// Returns the modes of the run's active documents.
    fn active_documents(&mut self) -> Result<Vec<Mode>, DocumentFailure>;
    /// Writes a change of a document.
    fn write_document(&mut self, change: &DocumentChange) -> Result<(), DocumentFailure>;
    /// Cancels the run's active documents.
    fn cancel_documents(&mut self) -> Result<(), DocumentFailure>;
    /// Returns the status of the run's own document. Takes no lock.
    fn observe_document(&mut self) -> ObservedDocument;

    /// Opens a conversation. Its events arrive as [`WorldEvent::Agent`], and the last
    /// one is always `Ended`.
    fn open_agent(&mut self, step: &StepKey, spec: &StepConversation) -> Result<(), Failure>;
    /// Sends a command to an agent. Does nothing if the agent has exited.
    fn command(&mut self, step: &StepKey, command: AgentCommand);
    /// Frees the resources of an agent that has ended.
    fn release_agent(&mut self, step: &StepKey);

    /// Starts a job. Its result arrives as [`WorldEvent::JobDone`].
    fn start_job(&mut self, step: &StepKey, job: Job) -> Result<(), JobFailure>;
    /// Asks a job to stop. It still reports its end.
    fn stop_job(&mut self, step: &StepKey);
    /// Frees the resources of a job that has ended.
    fn release_job(&mut self, step: &StepKey);

    /// Raises a question for the person.
    fn request_approval(
        &mut self,
        number: u64,
        step: &StepKey,
        ask: &ApprovalRequest,
    ) -> Result<(), String>;
    /// Removes a question.
    fn close_question(&mut self, number: u64);
    /// Removes a limit request that is in the journal.
    fn close_limit_request(&mut self, id: &LimitRequestId);

    /// Shows progress, and keeps it for processes that attach later.
    fn show(&mut self, progress: &Progress);

    /// Returns the next control event, if there is one. Never blocks.
    fn control(&mut self) -> Option<ControlEvent>;
    /// Blocks until there is an event or a control event, or until the given time.
    /// Returns `None` in the latter two cases.
    fn wait(&mut self, until: Option<Timestamp>) -> Option<WorldEvent>;
}

/// Reports of agents and jobs.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldEvent {
    /// An agent reported something.
    Agent(StepKey, AgentEvent),
    /// A job ended.
    JobDone(StepKey, Result<JobResult, JobFailure>),
}

/// What the person does to a run in progress. Control events overtake all reports of agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// The run's document is cancelled or missing.
    DocumentsCancelled,
    /// A question was answered.
    Answered(u64, ApprovalDecision),
    /// The person changed the run's limits.
    LimitsRequested(LimitRequestId, LimitChange),
    /// The disk is nearly full, in words for people.
    DiskFull(String),
    /// A signal, from the person or from `cancel`.
    Stop,
}

/// The observed status of the run's own document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedDocument {
    /// Its outcome is `cancelled`.
    Cancelled,
    /// The document is missing. A forced cancel removes documents, so this counts as a cancel.
    Missing,
    /// Anything else.
    Other,
    /// The document cannot be read now. That is not a cancel.
    Unreadable,
    /// A mark says that the run was cancelled, whatever the document says.
    Marked,
}

//! What a run needs from the world around it.

use omx_agents::AgentEvent;
use omx_agents::agent::{AgentCommand, ApprovalDecision};
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::Failure;
use omx_kernel::{Mode, Timestamp};
use omx_runs::progress::Progress;
use omx_runs::{Record, StepKey};

use crate::engine::{DocumentFailure, Job, JobFailure, JobResult, StepConversation};
use crate::workflow::DocumentChange;

/// Everything outside the loop of a run. A method carries out one effect and
/// reports whether that worked; it decides nothing. Only [`wait`](World::wait) blocks.
pub trait World {
    /// The current time.
    fn now(&self) -> Timestamp;

    /// Appends to the journal and flushes it.
    fn append(&mut self, record: &Record) -> Result<(), String>;

    /// The run's documents that are active.
    fn active_documents(&mut self) -> Result<Vec<Mode>, DocumentFailure>;
    /// Writes a change of a document.
    fn write_document(&mut self, change: &DocumentChange) -> Result<(), DocumentFailure>;
    /// Cancels the run's documents that are active.
    fn cancel_documents(&mut self) -> Result<(), DocumentFailure>;
    /// What the run's own document says. Takes no lock.
    fn observe_document(&mut self) -> ObservedDocument;

    /// Opens a conversation. What happens in it arrives as [`WorldEvent::Agent`],
    /// and the last event is always `Ended`.
    fn open_agent(&mut self, step: &StepKey, spec: &StepConversation) -> Result<(), Failure>;
    /// Sends a command to an agent. An agent that is gone ignores it.
    fn command(&mut self, step: &StepKey, command: AgentCommand);
    /// Drops what is left of an agent that has ended.
    fn release_agent(&mut self, step: &StepKey);

    /// Starts a job. How it ends arrives as [`WorldEvent::JobDone`].
    fn start_job(&mut self, step: &StepKey, job: Job) -> Result<(), JobFailure>;
    /// Tells a job to stop. It still reports its end.
    fn stop_job(&mut self, step: &StepKey);
    /// Drops what is left of a job that has ended.
    fn release_job(&mut self, step: &StepKey);

    /// Puts a question where the person finds it.
    fn ask(&mut self, number: u64, step: &StepKey, ask: &ApprovalRequest) -> Result<(), String>;
    /// Removes a question.
    fn close_question(&mut self, number: u64);

    /// Shows progress, and keeps it for whoever attaches later.
    fn show(&mut self, progress: &Progress);

    /// The next control event, if there is one. Never blocks.
    fn control(&mut self) -> Option<ControlEvent>;
    /// Blocks until there is an event, a control event or the given time. Returns
    /// nothing for the latter two.
    fn wait(&mut self, until: Option<Timestamp>) -> Option<WorldEvent>;
}

/// What agents and jobs report.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldEvent {
    /// An agent reported something.
    Agent(StepKey, AgentEvent),
    /// A job ended.
    JobDone(StepKey, Result<JobResult, JobFailure>),
}

/// What the person does to a run while it works. Control events overtake
/// everything that agents report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlEvent {
    /// The run's document is cancelled or gone.
    DocumentsCancelled,
    /// A question was answered.
    Answered(u64, ApprovalDecision),
    /// A signal: the person wants the run to stop, or `cancel` does.
    Stop,
}

/// What the run's own document says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedDocument {
    /// Its outcome is `cancelled`.
    Cancelled,
    /// There is none. Clearing a document by force is a cancel, too.
    Missing,
    /// It says something else.
    Other,
    /// It cannot be read now. That is not a cancel.
    Unreadable,
}

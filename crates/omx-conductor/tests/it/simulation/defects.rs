//! Defects that the shell once had, put back one at a time. Each must be found: a
//! simulation that passes with one of them proves nothing about it.
//!
//! What a world cannot put back has tests of its own: guards that stay as zombies
//! (`omx-process`), and a cancel over MCP that leaves the run working (`omx`).

use omx_agents::agent::AgentCommand;
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::Failure;
use omx_conductor::drive::{ControlEvent, ObservedDocument, World, WorldEvent};
use omx_conductor::engine::{DocumentFailure, Job, JobFailure, StepConversation};
use omx_conductor::workflow::{DocumentChange, WorkflowContext};
use omx_kernel::{Mode, Timestamp};
use omx_runs::progress::Progress;
use omx_runs::{LimitRequestId, Record, StepKey};

use super::effects::ends_run;
use super::world::SimWorld;
use crate::kit;

/// How late control events are when they starve.
const LATE_MS: i64 = 12_800;

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The evidence is where the `omx` dialect has it, in any project.
    WrongEvidencePath,
    /// Control events arrive when an agent has talked for a while.
    StarvedControl,
    /// A new limit reaches only the next process.
    IgnoredLimits,
    /// A lock that another process holds ends the run.
    FatalLock,
    /// A run that ends while the lock is held leaves its documents active.
    ActiveDocuments,
    /// A cancel that meets the last change of a document is ignored.
    IgnoredCancel,
    /// Questions stay open when their agent or the run has ended.
    OpenQuestions,
}

impl Defect {
    pub const ALL: [Self; 7] = [
        Self::WrongEvidencePath,
        Self::StarvedControl,
        Self::IgnoredLimits,
        Self::FatalLock,
        Self::ActiveDocuments,
        Self::IgnoredCancel,
        Self::OpenQuestions,
    ];

    /// The rules one of which finds it.
    pub fn rules(self) -> &'static [&'static str] {
        match self {
            Self::WrongEvidencePath => &["documents take what the run writes"],
            Self::StarvedControl => &[
                "takes effect at once",
                "every run ends",
                "nothing begins in a run that is being stopped",
            ],
            Self::IgnoredLimits => &["a new limit takes effect at once"],
            Self::FatalLock => &["it fails for a reason", "nothing stays active"],
            Self::ActiveDocuments => &["nothing stays active"],
            Self::IgnoredCancel => &["a cancelled run ends as cancelled"],
            Self::OpenQuestions => &[
                "nobody is asked for an agent that has ended",
                "questions are closed before the run is let go of",
            ],
        }
    }

    /// What the workflow believes about the project.
    pub fn context(self, real: WorkflowContext) -> WorkflowContext {
        match self {
            Self::WrongEvidencePath => WorkflowContext { paths: kit::context().paths, ..real },
            _ => real,
        }
    }
}

/// A world with a defect.
pub struct DefectiveWorld<'a> {
    pub world: &'a mut SimWorld,
    pub defect: Defect,
    /// Control events that starve, and since when.
    pub starving: Vec<(Timestamp, ControlEvent)>,
}

impl DefectiveWorld<'_> {
    /// A failed change of a document, as the defect has it.
    fn written(
        &self,
        written: Result<(), DocumentFailure>,
        ends_run: bool,
    ) -> Result<(), DocumentFailure> {
        match (self.defect, written) {
            (Defect::FatalLock, Err(DocumentFailure::Busy(why))) => {
                Err(DocumentFailure::Refused(why))
            }
            (Defect::ActiveDocuments, Err(DocumentFailure::Busy(_))) if ends_run => Ok(()),
            (
                Defect::IgnoredCancel,
                Err(DocumentFailure::Cancelled | DocumentFailure::Refused(_)),
            ) if ends_run => Ok(()),
            (_, written) => written,
        }
    }
}

impl World for DefectiveWorld<'_> {
    fn now(&self) -> Timestamp {
        self.world.now()
    }

    fn append(&mut self, record: &Record) -> Result<(), String> {
        self.world.append(record)
    }

    fn active_documents(&mut self) -> Result<Vec<Mode>, DocumentFailure> {
        self.world.active_documents()
    }

    fn write_document(&mut self, change: &DocumentChange) -> Result<(), DocumentFailure> {
        let written = self.world.write_document(change);
        self.written(written, ends_run(change))
    }

    fn cancel_documents(&mut self) -> Result<(), DocumentFailure> {
        let written = self.world.cancel_documents();
        self.written(written, true)
    }

    fn observe_document(&mut self) -> ObservedDocument {
        self.world.observe_document()
    }

    fn open_agent(&mut self, step: &StepKey, spec: &StepConversation) -> Result<(), Failure> {
        self.world.open_agent(step, spec)
    }

    fn command(&mut self, step: &StepKey, command: AgentCommand) {
        self.world.command(step, command);
    }

    fn release_agent(&mut self, step: &StepKey) {
        self.world.release_agent(step);
    }

    fn start_job(&mut self, step: &StepKey, job: Job) -> Result<(), JobFailure> {
        self.world.start_job(step, job)
    }

    fn stop_job(&mut self, step: &StepKey) {
        self.world.stop_job(step);
    }

    fn release_job(&mut self, step: &StepKey) {
        self.world.release_job(step);
    }

    fn request_approval(
        &mut self,
        number: u64,
        step: &StepKey,
        ask: &ApprovalRequest,
    ) -> Result<(), String> {
        self.world.request_approval(number, step, ask)
    }

    fn close_question(&mut self, number: u64) {
        if self.defect != Defect::OpenQuestions {
            self.world.close_question(number);
        }
    }

    fn close_limit_request(&mut self, id: &LimitRequestId) {
        self.world.close_limit_request(id);
    }

    fn show(&mut self, progress: &Progress) {
        self.world.show(progress);
    }

    fn control(&mut self) -> Option<ControlEvent> {
        let event = self.world.control();
        match (self.defect, event) {
            (Defect::IgnoredLimits, Some(ControlEvent::LimitsRequested(..))) => self.control(),
            (Defect::StarvedControl, Some(event)) => {
                self.starving.push((self.world.now, event));
                self.control()
            }
            (Defect::StarvedControl, None) => {
                let (since, _) = self.starving.first()?;
                let is_due = self.world.now.millis_since(*since) >= LATE_MS;
                is_due.then(|| self.starving.remove(0).1)
            }
            (_, event) => event,
        }
    }

    fn wait(&mut self, until: Option<Timestamp>) -> Option<WorldEvent> {
        self.world.wait(until)
    }
}

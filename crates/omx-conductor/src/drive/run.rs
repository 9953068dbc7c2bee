//! The loop of a run: one event at a time, effects in order.

use std::collections::VecDeque;

use omx_agents::AgentEvent;
use omx_agents::agent::AgentCommand;
use omx_runs::{Record, StepKey, Usage};

use super::attention::OpenQuestions;
use super::world::{ControlEvent, ObservedDocument, World, WorldEvent};
use crate::engine::{
    DocumentFailure, Engine, Job, JobFailure, RunEffect, RunEvent, RunOutcome, StepConversation,
};
use crate::workflow::DocumentChange;

/// How a process ended its work on a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedRun {
    /// The outcome.
    pub outcome: RunOutcome,
    /// Tokens and money, summed over all processes of the run.
    pub usage: Usage,
}

/// A run in progress, in a world.
#[derive(Debug)]
pub struct Drive<'w, W> {
    world: &'w mut W,
    engine: Engine,
    /// Events caused by effects. They come before any other event.
    follow_ups: VecDeque<RunEvent>,
    questions: OpenQuestions,
}

impl<'w, W: World> Drive<'w, W> {
    /// Wraps an opened run.
    pub fn new(world: &'w mut W, engine: Engine) -> Self {
        let (follow_ups, questions) = (VecDeque::new(), OpenQuestions::default());
        Self { world, engine, follow_ups, questions }
    }

    /// Drives the run until it is closed. `changes` are the records that opening the
    /// run adds to its journal.
    pub fn run(mut self, version: &str, changes: Vec<Record>) -> EndedRun {
        let mut event = RunEvent::Opened { version: version.to_owned(), changes };
        loop {
            if let Some(outcome) = self.handle(event) {
                self.questions.close_all(self.world);
                return EndedRun { outcome, usage: self.engine.usage() };
            }
            event = self.next_event();
        }
    }

    /// Returns the next event. Control events overtake what agents report: a chatty
    /// agent must not delay a cancel or an answer.
    fn next_event(&mut self) -> RunEvent {
        loop {
            if let Some(event) = self.follow_ups.pop_front() {
                return event;
            }
            if let Some(control) = self.world.control() {
                if let Some(event) = self.control_event(control) {
                    return event;
                }
                continue;
            }
            let wake = self.engine.wake();
            match self.world.wait(wake) {
                Some(WorldEvent::Agent(step, event)) => return RunEvent::Agent(step, event),
                Some(WorldEvent::JobDone(step, result)) => return RunEvent::JobDone(step, result),
                None if wake.is_some_and(|wake| wake <= self.world.now()) => return RunEvent::Time,
                None => {}
            }
        }
    }

    fn control_event(&mut self, control: ControlEvent) -> Option<RunEvent> {
        match control {
            ControlEvent::DocumentsCancelled => self.is_cancelled().then_some(RunEvent::Cancelled),
            // `cancel` writes the documents before it sends the signal.
            ControlEvent::Stop if self.is_cancelled() => Some(RunEvent::Cancelled),
            ControlEvent::Stop => Some(RunEvent::Interrupted),
            ControlEvent::DiskFull(why) => Some(RunEvent::DiskFull(why)),
            ControlEvent::Answered(number, decision) => {
                let (step, approval) = self.questions.close(number, self.world)?;
                Some(RunEvent::Answered(step, approval, decision))
            }
            ControlEvent::LimitsRequested(id, change) => {
                Some(RunEvent::LimitsRequested(id, change))
            }
        }
    }

    /// Whether the run was cancelled after this process took over its documents.
    fn is_cancelled(&mut self) -> bool {
        match self.world.observe_document() {
            ObservedDocument::Marked => true,
            ObservedDocument::Cancelled | ObservedDocument::Missing => self.engine.is_cancellable(),
            ObservedDocument::Other | ObservedDocument::Unreadable => false,
        }
    }

    fn handle(&mut self, event: RunEvent) -> Option<RunOutcome> {
        match &event {
            RunEvent::Agent(step, AgentEvent::Ended(_)) => {
                self.world.release_agent(step);
                self.questions.close_of_step(step, self.world);
            }
            RunEvent::JobDone(step, _) => self.world.release_job(step),
            _ => {}
        }
        let now = self.world.now();
        let mut effects = self.engine.handle(event, now).into_iter();
        while let Some(effect) = effects.next() {
            match effect {
                RunEffect::Close(outcome) => return Some(outcome),
                RunEffect::Record(record) => {
                    if let Err(why) = self.world.append(&record) {
                        // Before what has happened meanwhile, of which nothing can be recorded.
                        self.follow_ups.push_front(RunEvent::JournalFailed(why));
                        effects.for_each(|effect| self.skip(effect));
                        return None;
                    }
                }
                effect => self.carry_out(effect),
            }
        }
        None
    }

    fn carry_out(&mut self, effect: RunEffect) {
        match effect {
            RunEffect::FindLeftovers => {
                let found = self.world.active_documents();
                self.follow_ups.push_back(RunEvent::LeftoversFound(found));
            }
            RunEffect::WriteDocument(change) => {
                let written = self.write_document(&change);
                self.follow_ups.push_back(RunEvent::DocumentWritten(written));
            }
            RunEffect::CancelDocuments => {
                let written = self.world.cancel_documents();
                self.follow_ups.push_back(RunEvent::DocumentWritten(written));
            }
            RunEffect::OpenAgent(step, spec) => self.open_agent(step, &spec),
            RunEffect::Command(step, command) => self.world.command(&step, command),
            RunEffect::StartJob(step, job) => self.start_job(step, job),
            RunEffect::StopJob(step) => self.world.stop_job(&step),
            RunEffect::AskPerson(step, approval, ask) => {
                if let Err(why) =
                    self.questions.request_approval(&step, &approval, &ask, self.world)
                {
                    self.follow_ups.push_back(RunEvent::AskFailed(step, approval, why));
                }
            }
            RunEffect::CloseLimitRequest(id) => self.world.close_limit_request(&id),
            RunEffect::Show(progress) => self.world.show(&progress),
            // The caller handles these, because it knows which effects follow.
            RunEffect::Record(_) | RunEffect::Close(_) => {}
        }
    }

    /// Skips an effect after a record that could not be written. Nothing may start
    /// that the journal does not know about, but whatever is running must still end.
    fn skip(&mut self, effect: RunEffect) {
        match effect {
            RunEffect::OpenAgent(step, _) => {
                self.follow_ups.push_back(RunEvent::Agent(step, AgentEvent::Ended(None)));
            }
            RunEffect::StartJob(step, _) => self.not_started(step),
            RunEffect::Command(_, AgentCommand::End)
            | RunEffect::StopJob(_)
            | RunEffect::Show(_) => self.carry_out(effect),
            _ => {}
        }
    }

    /// Writes a change, unless the run was cancelled. The check before the write
    /// keeps a cancelled run from touching its documents; the check after it
    /// recognizes a cancel that came in between.
    fn write_document(&mut self, change: &DocumentChange) -> Result<(), DocumentFailure> {
        if self.is_cancelled() {
            return Err(DocumentFailure::Cancelled);
        }
        let written = self.world.write_document(change);
        if !matches!(written, Err(DocumentFailure::Refused(_))) {
            return written;
        }
        match self.world.observe_document() {
            // Before this process's first change, only a fresh cancel causes a refusal.
            ObservedDocument::Cancelled | ObservedDocument::Marked => {
                Err(DocumentFailure::Cancelled)
            }
            ObservedDocument::Missing if self.engine.is_cancellable() => {
                Err(DocumentFailure::Cancelled)
            }
            // Whether it was a cancel is not known, so try again.
            ObservedDocument::Unreadable => {
                Err(DocumentFailure::Failed("the run's document cannot be read".to_owned()))
            }
            ObservedDocument::Missing | ObservedDocument::Other => written,
        }
    }

    /// Opens a conversation, unless the run was cancelled.
    fn open_agent(&mut self, step: StepKey, spec: &StepConversation) {
        let failure = if self.is_cancelled() {
            self.follow_ups.push_back(RunEvent::Cancelled);
            None
        } else {
            match self.world.open_agent(&step, spec) {
                Ok(()) => return,
                Err(failure) => Some(failure),
            }
        };
        self.follow_ups.push_back(RunEvent::Agent(step, AgentEvent::Ended(failure)));
    }

    /// Starts a job, unless the run was cancelled. A commit always runs, because it
    /// secures finished work.
    fn start_job(&mut self, step: StepKey, job: Job) {
        if !matches!(job, Job::Commit { .. }) && self.is_cancelled() {
            self.follow_ups.push_back(RunEvent::Cancelled);
            return self.not_started(step);
        }
        if let Err(failure) = self.world.start_job(&step, job) {
            self.follow_ups.push_back(RunEvent::JobDone(step, Err(failure)));
        }
    }

    fn not_started(&mut self, step: StepKey) {
        self.follow_ups.push_back(RunEvent::JobDone(step, Err(JobFailure::NotStarted)));
    }
}

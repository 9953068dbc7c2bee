//! Carries a run out: feeds the engine from one channel and does what it says.
//!
//! Every effect is done in the order it is told, and the journal is flushed
//! before anything that comes after it. A run that cannot write its journal
//! stops: it could not say afterwards what it did.

mod agents;
mod documents;
mod needs;
mod steps;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use omx_agents::{AgentEnv, AgentLimits, Conversation, Installation};
use omx_kernel::{Refusal, SessionId, Timestamp};
use omx_ops::Context;
use omx_store::Store;
use omx_store::runs::HeldRun;

use crate::engine::{Effect, Engine, Happening, Outcome};
use omx_runs::StepKey;
use omx_runs::progress::Progress;
use omx_runs::spec::RunSpec;
use omx_runs::{Record, Usage};

use self::needs::Needs;

/// How often documents and answers of the person are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// A role as the conductor needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleCard {
    /// What the agent reads.
    pub prompt: String,
    /// The model of the role's tier, where one is configured.
    pub model: Option<String>,
}

/// What a run needs besides itself.
pub struct Crew<'a> {
    /// Where and how documents are written.
    pub context: &'a Context<'a>,
    /// The project.
    pub store: &'a Store,
    /// The roles there are, by name.
    pub roles: BTreeMap<String, RoleCard>,
    /// The agent's program.
    pub installation: Installation,
    /// The world it lives in.
    pub surroundings: AgentEnv,
    /// How long anything of it may take.
    pub limits: AgentLimits,
    /// This program's version.
    pub version: &'static str,
}

/// Stops a run, from any thread.
#[derive(Clone, Debug)]
pub struct Handle(Sender<Heard>);

impl Handle {
    /// The person wants it to stop, or a cancel does: its documents say which.
    pub fn stop(&self) {
        let _ = self.0.send(Heard::Stop);
    }
}

#[derive(Debug)]
enum Heard {
    Happened(Happening),
    Stop,
}

/// How a run was let go of.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// What it took, over all processes.
    pub spent: Usage,
}

/// A run that is being carried out.
pub struct Drive<'a, Show> {
    crew: &'a Crew<'a>,
    asked: RunSpec,
    session: SessionId,
    held: HeldRun,
    engine: Engine,
    show: Show,
    sender: Sender<Heard>,
    heard: Receiver<Heard>,
    agents: BTreeMap<StepKey, Conversation>,
    checks: BTreeMap<StepKey, steps::StopCheck>,
    needs: Needs,
    /// How many of the documents' changes are written.
    written: usize,
    /// The documents refused a change, as the run is cancelled.
    knows_cancel: bool,
    folder: PathBuf,
}

impl<'a, Show: FnMut(&Progress)> Drive<'a, Show> {
    /// A run that was taken up, with what its journal says.
    pub fn new(
        crew: &'a Crew<'a>,
        asked: RunSpec,
        held: HeldRun,
        engine: Engine,
        show: Show,
    ) -> Result<Self, Refusal> {
        let (sender, heard) = channel();
        let session = SessionId::new(held.id().as_str())?;
        let folder = asked.workspace.folder().to_owned();
        let needs = Needs::new(held.folder().path());
        Ok(Self {
            crew,
            asked,
            session,
            held,
            engine,
            show,
            sender,
            heard,
            agents: BTreeMap::new(),
            checks: BTreeMap::new(),
            needs,
            written: 0,
            knows_cancel: false,
            folder,
        })
    }

    /// What stops it.
    pub fn handle(&self) -> Handle {
        Handle(self.sender.clone())
    }

    /// Carries it out until it is let go of. `changes` are what taking it up
    /// adds to its journal.
    pub fn run(mut self, changes: Vec<Record>) -> Result<Ended, Refusal> {
        self.record(&Record::Opened { version: self.crew.version.to_owned() })?;
        for change in &changes {
            self.record(change)?;
        }
        self.end_leftovers()?;
        let mut outcome = self.happened(Happening::Opened)?;
        loop {
            if let Some(outcome) = outcome {
                if outcome == Outcome::Cancelled {
                    self.cancel_the_rest()?;
                }
                return Ok(Ended { outcome, spent: self.engine.spent() });
            }
            outcome = match self.heard.recv_timeout(self.patience()) {
                Ok(Heard::Happened(happening)) => self.happened(happening)?,
                Ok(Heard::Stop) => {
                    let happening = if self.is_cancelled() {
                        Happening::Cancelled
                    } else {
                        Happening::Interrupted
                    };
                    self.happened(happening)?
                }
                Err(RecvTimeoutError::Timeout) => self.look_around()?,
                // Not possible: this loop holds a sender itself.
                Err(RecvTimeoutError::Disconnected) => Some(Outcome::Interrupted),
            };
        }
    }

    fn patience(&self) -> Duration {
        let until = |wake: Timestamp| {
            Duration::from_millis(u64::try_from(wake.millis_since(self.now())).unwrap_or_default())
        };
        self.engine.wake().map_or(LOOK, until).min(LOOK)
    }

    fn look_around(&mut self) -> Result<Option<Outcome>, Refusal> {
        if self.is_cancelled() {
            return self.happened(Happening::Cancelled);
        }
        for (step, approval, decision) in self.needs.answers() {
            let ended = self.happened(Happening::Answered(step, approval, decision))?;
            if ended.is_some() {
                return Ok(ended);
            }
        }
        self.happened(Happening::Time)
    }

    fn now(&self) -> Timestamp {
        self.crew.context.clock.now()
    }

    fn happened(&mut self, happening: Happening) -> Result<Option<Outcome>, Refusal> {
        if let Happening::Agent(step, omx_agents::AgentEvent::Ended(_)) = &happening {
            self.agents.remove(step);
            self.needs.forget(step);
        }
        if let Happening::Checked(step, _) = &happening {
            self.checks.remove(step);
        }
        let now = self.now();
        let effects = self.engine.handle(happening, now);
        for effect in effects {
            if let Some(outcome) = self.carry_out(effect)? {
                return Ok(Some(outcome));
            }
        }
        Ok(None)
    }

    fn carry_out(&mut self, effect: Effect) -> Result<Option<Outcome>, Refusal> {
        match effect {
            // A cancel that came while the run ended counts: its documents say so.
            Effect::Record(Record::Closed { worked_ms, .. }) if self.knows_cancel => {
                let outcome = Outcome::Cancelled.as_str().to_owned();
                self.record(&Record::Closed { outcome, why: String::new(), worked_ms })?;
            }
            Effect::Close(_) if self.knows_cancel => return Ok(Some(Outcome::Cancelled)),
            Effect::Record(record) => self.record(&record)?,
            Effect::Documents(entries) => self.write_documents(&entries)?,
            Effect::Note(mode, fields) => self.note(mode, fields)?,
            Effect::Open(step, talk) => self.open(step, &talk)?,
            Effect::Order(step, order) => self.order(&step, order),
            Effect::Check(step, command) => self.check(step, command)?,
            Effect::StopCheck(step) => self.stop_check(&step),
            Effect::Keep(step, plan) => self.keep(step, &plan),
            Effect::Settle(step) => self.settle(step)?,
            Effect::NeedsPerson(step, approval, ask) => self.needs.ask(step, approval, &ask),
            Effect::Show(progress) => self.show(&progress),
            Effect::Close(outcome) => return Ok(Some(outcome)),
        }
        Ok(None)
    }

    fn record(&mut self, record: &Record) -> Result<(), Refusal> {
        let now = self.now();
        self.held.journal().append(now, record)?;
        Ok(())
    }

    /// Shows it here, and keeps it for whoever attaches.
    fn show(&mut self, progress: &Progress) {
        self.needs.log(progress, self.now());
        (self.show)(progress);
    }

    /// Tells the loop from another thread.
    fn teller(&self) -> impl Fn(Happening) + Send + 'static {
        let sender = self.sender.clone();
        move |happening| {
            let _ = sender.send(Heard::Happened(happening));
        }
    }
}

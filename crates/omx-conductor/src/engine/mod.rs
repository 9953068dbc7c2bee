//! The loop of a run as a pure machine: something happened, this is to be done.
//!
//! It holds no file, no process and no clock. Production feeds it from one
//! channel and carries its effects out in order; a simulation feeds it from a
//! seeded queue. Everything that must survive a kill is a [`Record`], and
//! stands in the list of effects before what it speaks of.

mod agent;
mod budget;
mod close;
mod message;
mod own;
mod resume;
mod trouble;

use std::collections::{BTreeMap, BTreeSet};

use omx_agents::agent::{AgentCommand, ApprovalDecision, ConversationId, ConversationStart};
use omx_agents::event::{AgentEvent, ApprovalId, ApprovalRequest};
use omx_kernel::approval::AllowLevel;
use omx_kernel::{Mode, Refusal, SessionId, Timestamp};
use serde_json::Value;

pub use close::Outcome;
pub use resume::Decide;

use crate::input::input_hash;
use crate::prompts;
use crate::show;
use crate::story::{
    CheckResult, End, Entry, Errand, KeptPlan, Next, Past, Step, StepKey, Work, tell,
};
use omx_runs::progress::Progress;
use omx_runs::spec::RunSpec;
use omx_runs::{Record, Usage};

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Happening {
    /// The run was taken up.
    Opened,
    /// An agent told something.
    Agent(StepKey, AgentEvent),
    /// A check ran to its end, or could not be run.
    Checked(StepKey, Result<CheckResult, String>),
    /// A plan was kept, or could not be.
    Kept(StepKey, Result<KeptPlan, String>),
    /// The folder was looked at after a step: its hash, where there is one.
    Settled(StepKey, Result<Option<String>, String>),
    /// The person answered an approval.
    Answered(StepKey, ApprovalId, ApprovalDecision),
    /// The person wants the run to stop here.
    Interrupted,
    /// The run was cancelled: its documents say so.
    Cancelled,
    /// Time has passed.
    Time,
}

/// Something to be done, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append to the journal, and flush it, before anything after this.
    Record(Record),
    /// The documents' changes so far; those not written yet are to be written.
    Documents(Vec<Entry>),
    /// One more change of a document, which no story tells.
    Note(Mode, Value),
    /// Open an agent's conversation.
    Open(StepKey, Talk),
    /// Tell an agent.
    Order(StepKey, AgentCommand),
    /// Run the check.
    Check(StepKey, String),
    /// End the check that runs.
    StopCheck(StepKey),
    /// Keep a plan in the project.
    Keep(StepKey, Value),
    /// Look at the folder after a step, and commit what changed where it is ours.
    Settle(StepKey),
    /// Only the person can say.
    NeedsPerson(StepKey, ApprovalId, ApprovalRequest),
    /// Show what goes on.
    Show(Progress),
    /// The run is let go of.
    Close(Outcome),
}

/// A conversation for a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Talk {
    /// New or gone on with.
    pub start: ConversationStart,
    /// The role.
    pub role: String,
    /// The phase the step's mode is in.
    pub phase: String,
    /// The model, if the errand has its own.
    pub model: Option<String>,
    /// What its answer must fit.
    pub schema: Value,
}

/// How a step is being done.
#[derive(Clone, Debug, PartialEq)]
enum Doing {
    /// The conversation is being opened; then this is said.
    Opening(String),
    /// The agent works.
    Talking,
    /// The agent was told to end; then this.
    Ending(After),
    /// Nothing runs until then.
    Resting(Wait),
    /// The check runs.
    Checking,
    /// The plan is being kept.
    Keeping,
    /// The folder is being looked at; this is the result.
    Settling(Value),
}

/// A time to wait for, and what is waited for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wait {
    until: Timestamp,
    what: &'static str,
}

/// What follows when an agent has ended.
#[derive(Clone, Debug, PartialEq)]
enum After {
    Settle(Value),
    Rest(Wait),
    Reopen,
    Forget,
}

#[derive(Clone, Debug, PartialEq)]
struct Active {
    step: Step,
    input: String,
    doing: Doing,
    talk: Known,
    /// How often a failing service was waited for.
    pauses: u32,
    /// How often the agent broke and was opened again.
    reopenings: u32,
    /// It was told once that its result does not fit.
    corrected: bool,
    /// What the agent asked the person for and waits for.
    asked_for: BTreeSet<ApprovalId>,
}

impl Active {
    fn new(step: Step, input: String, doing: Doing) -> Self {
        Self {
            step,
            input,
            doing,
            talk: Known::default(),
            pauses: 0,
            reopenings: 0,
            corrected: false,
            asked_for: BTreeSet::new(),
        }
    }
}

/// What is known of a step's conversation.
#[derive(Clone, Debug, PartialEq, Default)]
struct Known {
    conversation: Option<ConversationId>,
    /// The agent showed that it has heard what it shall do. Until then its
    /// errand may never have been said, or not have been kept.
    has_heard: bool,
}

/// A step that an earlier process began and did not finish.
#[derive(Clone, Debug, PartialEq, Default)]
struct Left {
    input: String,
    talk: Known,
}

/// The machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Engine {
    asked: RunSpec,
    session: SessionId,
    allow: AllowLevel,
    past: Past,
    left: BTreeMap<StepKey, Left>,
    active: BTreeMap<StepKey, Active>,
    spent: Usage,
    /// Milliseconds earlier processes worked on it.
    worked_before: u64,
    taken_up: Timestamp,
    /// Why it is being let go of.
    stopping: Option<Outcome>,
    /// The story has come to its end, and has written it into the documents.
    ended_by_story: bool,
    /// What its document says that it waits for.
    waiting: Option<Wait>,
    closed: bool,
}

impl Engine {
    /// What follows from something that happened.
    pub fn handle(&mut self, happening: Happening, now: Timestamp) -> Vec<Effect> {
        let mut out = Vec::new();
        if self.closed {
            return out;
        }
        match happening {
            Happening::Opened => self.taken_up = now,
            // A cancel counts before everything else.
            Happening::Cancelled => {}
            // Who comes late finds out first that the time is over.
            _ => self.mind_the_budget(&mut out, now),
        }
        match happening {
            Happening::Opened => self.advance(&mut out, now),
            Happening::Agent(key, event) => self.agent(&key, event, &mut out, now),
            Happening::Checked(key, result) => self.checked(&key, result, &mut out, now),
            Happening::Kept(key, result) => self.kept(&key, result, &mut out, now),
            Happening::Settled(key, result) => self.settled(&key, result, &mut out, now),
            Happening::Answered(key, approval, decision) => {
                self.person_answered(&key, approval, decision, &mut out);
            }
            Happening::Interrupted => self.stop(Outcome::Interrupted, &mut out, now),
            Happening::Cancelled => self.stop(Outcome::Cancelled, &mut out, now),
            Happening::Time => {}
        }
        self.keep_time(&mut out, now);
        out
    }

    /// When it wants to know the time, at the latest.
    pub fn wake(&self) -> Option<Timestamp> {
        let resting = self.active.values().filter_map(|active| match active.doing {
            Doing::Resting(wait) => Some(wait.until),
            _ => None,
        });
        resting.chain(self.time_is_up()).min()
    }

    /// Tokens and money so far.
    pub fn spent(&self) -> Usage {
        self.spent
    }

    /// Tells the story as far as it goes, and begins what is next.
    fn advance(&mut self, out: &mut Vec<Effect>, now: Timestamp) {
        if self.stopping.is_some() {
            return self.close_if_idle(out, now);
        }
        let telling = match tell(&self.asked, &self.session, &self.past) {
            Ok(telling) => telling,
            Err(refusal) => return self.defect(&refusal, out, now),
        };
        out.push(Effect::Documents(telling.entries));
        match telling.next {
            Next::Do(steps) => self.begin_all(steps, out, now),
            Next::Ended(end) => {
                self.ended_by_story = true;
                self.stop(Outcome::from(end), out, now);
            }
            Next::Diverged { step, .. } => self.diverged(&step, out, now),
        }
    }

    /// Begins steps that may be done at the same time: all of them or none.
    fn begin_all(&mut self, mut steps: Vec<Step>, out: &mut Vec<Effect>, now: Timestamp) {
        steps.retain(|step| !self.active.contains_key(&step.key));
        self.mind_the_budget(out, now);
        if self.stopping.is_some() {
            return;
        }
        let hash = |step: Step| (input_hash(&self.asked, &self.past, &step), step);
        let steps: Vec<(String, Step)> = steps.into_iter().map(hash).collect();
        let other = |(input, step): &&(String, Step)| {
            self.left.get(&step.key).is_some_and(|left| left.input != *input)
        };
        if let Some((_, step)) = steps.iter().find(other) {
            return self.diverged_begun(&step.clone(), out, now);
        }
        for (input, step) in steps {
            self.begin(step, input, out);
        }
    }

    fn begin(&mut self, step: Step, input: String, out: &mut Vec<Effect>) {
        let left = self.left.remove(&step.key);
        if left.is_none() {
            let (step, input) = (step.key.clone(), input.clone());
            out.push(Effect::Record(Record::StepStarted { step, input, tree: None }));
        }
        out.push(Effect::Show(show::began(&step)));
        let key = step.key.clone();
        let (doing, effect) = match &step.work {
            Work::Check => {
                let command = self.asked.check.clone().unwrap_or_default();
                (Doing::Checking, Effect::Check(key.clone(), command))
            }
            Work::KeepPlan(plan) => {
                let plan = self.past.get(plan).map(|finished| finished.result.clone());
                (Doing::Keeping, Effect::Keep(key.clone(), plan.unwrap_or_default()))
            }
            Work::Errand(errand) => {
                let known = left.map(|left| left.talk).unwrap_or_default();
                let (talk, words) = self.talk(&step, errand, &known);
                let mut active = Active::new(step.clone(), input, Doing::Opening(words));
                active.talk = known;
                self.active.insert(key.clone(), active);
                return out.push(Effect::Open(key, talk));
            }
        };
        self.active.insert(key, Active::new(step, input, doing));
        out.push(effect);
    }

    /// The conversation of an errand and its first words.
    fn talk(&self, step: &Step, errand: &Errand, known: &Known) -> (Talk, String) {
        let (asked, past) = (&self.asked, &self.past);
        let (start, words) = match &known.conversation {
            None => (ConversationStart::New, prompts::errand(asked, past, errand)),
            Some(id) => {
                let words = if known.has_heard {
                    prompts::go_on(errand.wants)
                } else {
                    prompts::errand_again(asked, past, errand)
                };
                (ConversationStart::Resume(id.clone()), words)
            }
        };
        let talk = Talk {
            start,
            role: errand.role.clone(),
            phase: step.phase.clone(),
            model: errand.model.clone(),
            schema: errand.wants.schema(),
        };
        (talk, words)
    }

    fn defect(&mut self, refusal: &Refusal, out: &mut Vec<Effect>, now: Timestamp) {
        let words = format!("the run cannot be told any further: {}", refusal.message);
        self.stop(Outcome::Failed(words), out, now);
    }
}

/// A moment so many milliseconds later.
fn later(from: Timestamp, millis: u64) -> Timestamp {
    Timestamp::from_millis(from.millis().saturating_add(i64::try_from(millis).unwrap_or(i64::MAX)))
}

//! The workflows, as pure functions of what has been done so far.
//!
//! A story is told from its beginning each time. A step that is in the past
//! gives its result at once; the first that is not ends the telling, and is
//! what has to be done next. So a run that was killed anywhere goes on where
//! it was: there is no other state than the list of finished steps. Along the
//! way a story writes documents; every such write goes through the kernel's
//! rules in memory, so a story that breaks one cannot be told at all.

mod autopilot;
mod ledger;
mod pipeline;
mod ralph;
mod ralplan;
mod review;
mod step;
mod ultraqa;

use omx_agents::results::AgentResult;
use omx_kernel::{Exhaustion, Mode, Refusal};
use serde_json::{Value, json};

pub use ledger::Entry;
use ledger::Ledger;
pub use step::{CheckResult, Errand, Finished, KeptPlan, Past, Purpose, Step, StepKey, Work};

use crate::input::input_hash;
use omx_runs::spec::RunSpec;

/// What is next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// These steps, which may be done at the same time.
    Do(Vec<Step>),
    /// Nothing: the run has ended like this.
    Ended(End),
    /// A finished step was given something else than it would be given now:
    /// somebody has to decide.
    Diverged {
        /// Which.
        step: StepKey,
        /// What it would be given now, as a hash.
        input: String,
    },
}

/// How a story ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// As it should. The words tell what was done.
    Complete(String),
    /// It did not get there.
    Failed(String),
    /// It used up what it was allowed.
    Limit(String),
    /// Only the person can go on.
    Blocked(String),
}

/// A story as far as it can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Telling {
    /// What is next.
    pub next: Next,
    /// The documents' changes so far, in order.
    pub entries: Vec<Entry>,
}

/// Tells the story of a run.
pub fn tell(
    asked: &RunSpec,
    session: &omx_kernel::SessionId,
    past: &Past,
) -> Result<Telling, Refusal> {
    let mut story =
        Story { asked, past, ledger: Ledger::new(asked, session)?, prefix: String::new() };
    let told = match asked.mode {
        Mode::Autopilot => story.autopilot(),
        Mode::Ralplan => story.ralplan_run(),
        Mode::Ralph => story.ralph_run(),
        Mode::CodeReview => story.code_review_run(),
        Mode::Ultraqa => story.ultraqa(),
        Mode::Pipeline => story.pipeline(),
        other => {
            return Err(Refusal::invalid_input(format!(
                "{} does not run from a terminal yet",
                other.name()
            )));
        }
    };
    let next = match told {
        Ok(end) => Next::Ended(end),
        Err(Halt::Pending(steps)) => Next::Do(steps),
        Err(Halt::Ended(end)) => Next::Ended(end),
        Err(Halt::Diverged(step, input)) => Next::Diverged { step, input },
        Err(Halt::Refused(refusal)) => return Err(*refusal),
    };
    Ok(Telling { next, entries: story.ledger.into_entries() })
}

/// Why the telling stops.
#[derive(Debug)]
enum Halt {
    /// These are not done yet.
    Pending(Vec<Step>),
    /// The run is over.
    Ended(End),
    /// A finished step would be given something else now.
    Diverged(StepKey, String),
    /// The kernel refused a write: a defect of the story.
    Refused(Box<Refusal>),
}

type Tale<T> = Result<T, Halt>;

struct Story<'a> {
    asked: &'a RunSpec,
    past: &'a Past,
    ledger: Ledger,
    prefix: String,
}

impl Story<'_> {
    /// Tells a part whose steps are named after it.
    fn part<T>(&mut self, name: &str, tell: impl FnOnce(&mut Self) -> Tale<T>) -> Tale<T> {
        let outer = self.prefix.clone();
        self.prefix = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
        let told = tell(self);
        self.prefix = outer;
        told
    }

    fn key(&self, name: &str) -> StepKey {
        StepKey::new(if self.prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.prefix)
        })
    }

    fn step(&self, name: &str, mode: Mode, work: Work) -> Step {
        let phase = self.ledger.phase(mode).unwrap_or_default();
        Step { key: self.key(name), mode, phase, work }
    }

    /// What a step gave, or that it has to be done.
    fn done(&self, step: Step) -> Tale<Finished> {
        let Some(finished) = self.past.get(&step.key) else {
            return Err(Halt::Pending(vec![step]));
        };
        let input = input_hash(self.asked, self.past, &step);
        if finished.input != input {
            return Err(Halt::Diverged(step.key, input));
        }
        Ok(finished.clone())
    }

    /// An agent's errand.
    fn errand(&self, name: &str, mode: Mode, errand: Errand) -> Tale<AgentResult> {
        let wants = errand.wants;
        let finished = self.done(self.step(name, mode, Work::Errand(errand)))?;
        AgentResult::read(wants, finished.result)
            .map_err(|problem| self.unreadable(name, &problem.to_string()))
    }

    /// The project's check.
    fn check(&self, name: &str, mode: Mode) -> Tale<Option<CheckResult>> {
        if self.asked.check.is_none() {
            return Ok(None);
        }
        let finished = self.done(self.step(name, mode, Work::Check))?;
        let check = serde_json::from_value(finished.result);
        check.map(Some).map_err(|error| self.unreadable(name, &error.to_string()))
    }

    /// The journal has something else than this step gives.
    fn unreadable(&self, name: &str, problem: &str) -> Halt {
        let words =
            format!("the journal's result of step {} cannot be read: {problem}", self.key(name));
        Halt::Refused(Box::new(Refusal::invalid_input(words)))
    }

    /// Where this run's journal is, from the project's folder.
    fn journal_path(&self) -> String {
        let tree = omx_kernel::Dialect::OMX.dir_name;
        format!("{tree}/runs/{}/journal.jsonl", self.ledger.session())
    }

    /// Where it is kept what this run knew when it began, from the project's folder.
    fn context_path(&self) -> String {
        let tree = omx_kernel::Dialect::OMX.dir_name;
        format!("{tree}/context/{}.md", self.asked.context_name())
    }

    /// Writes a document.
    fn write(&mut self, mode: Mode, fields: Value) -> Tale<()> {
        match self.ledger.write(mode, fields) {
            Ok(None) => Ok(()),
            Ok(Some(Exhaustion::Limit(error))) => Err(Halt::Ended(End::Limit(error))),
            Ok(Some(Exhaustion::Repetition(error))) => Err(Halt::Ended(End::Failed(error))),
            Err(refusal) => Err(Halt::Refused(Box::new(refusal))),
        }
    }

    /// Moves a document to another phase.
    fn enter(&mut self, mode: Mode, phase: &str) -> Tale<()> {
        self.write(mode, json!({"current_phase": phase}))
    }

    /// Starts a mode's document; under autopilot it hangs on it.
    fn start(&mut self, mode: Mode, mut fields: Value) -> Tale<()> {
        fields["active"] = json!(true);
        fields["start"] = json!(true);
        fields["task_description"] = json!(self.asked.task);
        if self.asked.mode == mode {
            if let Some(most) = self.asked.max_iterations {
                fields["max_iterations"] = json!(most);
            }
        } else {
            fields["linked_to"] = json!(self.asked.mode.name());
        }
        self.write(mode, fields)
    }

    /// Ends a document as failed, and the run with it.
    fn fail<T>(&mut self, mode: Mode, error: &str) -> Tale<T> {
        self.write(mode, json!({"run_outcome": "failed", "error": error}))?;
        Err(Halt::Ended(End::Failed(error.to_owned())))
    }

    /// Ends a document whose limit is reached, and the run with it.
    fn exhaust<T>(&mut self, mode: Mode, error: &str) -> Tale<T> {
        self.write(mode, json!({"run_outcome": "failed", "error": error}))?;
        Err(Halt::Ended(End::Limit(error.to_owned())))
    }

    /// Ends a document for the person to go on with, and the run with it.
    fn block<T>(&mut self, mode: Mode, reason: &str) -> Tale<T> {
        self.write(mode, json!({"run_outcome": "blocked_on_user", "error": reason}))?;
        Err(Halt::Ended(End::Blocked(reason.to_owned())))
    }
}

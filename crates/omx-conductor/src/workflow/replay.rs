//! Replays a workflow as far as its steps are completed.

use std::sync::Arc;

use omx_agents::results::AgentResult;
use omx_kernel::{GiveUpReason, Mode, Refusal};
use omx_runs::{RunSpec, StepKey};
use serde_json::{Value, json};

use super::ledger::{DocumentChange, Ledger, ReplayCache};
use super::{
    AgentStep, CheckResult, CompletedSteps, Seat, Step, StepKind, StepResult, WorkflowContext,
};
use crate::input::input_hash;

/// What comes next, given the completed steps.
#[derive(Clone, Debug, PartialEq)]
pub enum NextAction {
    /// Start these steps, which may run concurrently.
    Begin(Vec<Step>),
    /// Nothing: the workflow has ended.
    End(WorkflowEnd),
    /// The person has to decide: the input of a completed step has changed.
    Diverged {
        /// The step.
        step: StepKey,
        /// The hash of its current input.
        input: String,
    },
}

/// How a workflow ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkflowEnd {
    /// Completed, with a summary.
    Complete(String),
    /// Failed.
    Failed(String),
    /// Used up its iterations.
    Limit(String),
    /// Only the person can resolve this.
    Blocked(String),
}

/// The result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// What comes next.
    pub next: NextAction,
    /// The document changes so far, in order.
    pub changes: Vec<DocumentChange>,
}

/// Replays the workflow of a run.
pub fn replay(
    spec: &RunSpec,
    context: &WorkflowContext,
    completed: &CompletedSteps,
    cache: &mut ReplayCache,
) -> Result<Replay, Refusal> {
    let mut workflow = Workflow {
        spec,
        context,
        completed,
        seat: Arc::new(Seat::from_spec(spec)?),
        ledger: Ledger::new(spec, context, cache)?,
        prefix: String::new(),
    };
    let flow = match spec.mode {
        Mode::Autopilot => workflow.autopilot(),
        Mode::Ralplan => workflow.ralplan_run(),
        Mode::Ralph => workflow.ralph_run(),
        Mode::CodeReview => workflow.code_review_run(),
        Mode::Ultraqa => workflow.ultraqa(),
        Mode::Pipeline => workflow.pipeline(),
        other => {
            return Err(Refusal::invalid_input(format!(
                "{} does not run from a terminal yet",
                other.name()
            )));
        }
    };
    let next = match flow {
        Ok(end) => NextAction::End(end),
        Err(Halt::Pending(steps)) => NextAction::Begin(steps),
        Err(Halt::Ended(end)) => NextAction::End(end),
        Err(Halt::Diverged(step, input)) => NextAction::Diverged { step, input },
        Err(Halt::Refused(refusal)) => return Err(*refusal),
    };
    Ok(Replay { next, changes: workflow.ledger.into_changes() })
}

/// Why a replay stops.
#[derive(Debug)]
pub(super) enum Halt {
    /// These steps are not completed.
    Pending(Vec<Step>),
    /// The run is over.
    Ended(WorkflowEnd),
    /// The input of a completed step has changed; this is its current hash.
    Diverged(StepKey, String),
    /// The kernel refused a change: a bug in the workflow.
    Refused(Box<Refusal>),
}

/// The result of a part of a workflow, or why the replay stops in it.
pub(super) type Flow<T> = Result<T, Halt>;

/// A workflow during its replay.
pub(super) struct Workflow<'a> {
    pub(super) spec: &'a RunSpec,
    pub(super) context: &'a WorkflowContext,
    pub(super) completed: &'a CompletedSteps,
    seat: Arc<Seat>,
    pub(super) ledger: Ledger<'a>,
    prefix: String,
}

impl Workflow<'_> {
    /// Replays a part whose name prefixes the names of its steps.
    pub(super) fn part<T>(
        &mut self,
        name: &str,
        replay: impl FnOnce(&mut Self) -> Flow<T>,
    ) -> Flow<T> {
        let outer = self.prefix.clone();
        self.prefix = if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") };
        let flow = replay(self);
        self.prefix = outer;
        flow
    }

    pub(super) fn key(&self, name: &str) -> StepKey {
        StepKey::new(if self.prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{}.{name}", self.prefix)
        })
    }

    /// A step in the seat of the run, or in its own if it names a model.
    pub(super) fn step(&self, name: &str, mode: Mode, kind: StepKind) -> Step {
        let phase = self.ledger.phase(mode).unwrap_or_default();
        let seat = match &kind {
            StepKind::Agent(AgentStep { model: Some(model), .. }) => {
                Arc::new(Seat { model: Some(model.clone()), ..Seat::clone(&self.seat) })
            }
            _ => Arc::clone(&self.seat),
        };
        Step { key: self.key(name), mode, phase, kind, seat }
    }

    /// The result of a step, if it is completed.
    pub(super) fn result(&self, step: Step) -> Flow<StepResult> {
        let Some(done) = self.completed.get(&step.key) else {
            return Err(Halt::Pending(vec![step]));
        };
        let input = input_hash(self.spec, self.completed, &step);
        if done.input != input {
            return Err(Halt::Diverged(step.key, input));
        }
        Ok(done.clone())
    }

    /// The result of an agent step.
    pub(super) fn agent(&self, name: &str, mode: Mode, agent: AgentStep) -> Flow<AgentResult> {
        let wants = agent.wants;
        let done = self.result(self.step(name, mode, StepKind::Agent(agent)))?;
        AgentResult::read(wants, done.result)
            .map_err(|problem| self.unreadable(name, &problem.to_string()))
    }

    /// The result of the project's check; `None` if the project has no check.
    pub(super) fn check(&self, name: &str, mode: Mode) -> Flow<Option<CheckResult>> {
        if self.spec.check.is_none() {
            return Ok(None);
        }
        let done = self.result(self.step(name, mode, StepKind::Check))?;
        let check = serde_json::from_value(done.result);
        check.map(Some).map_err(|error| self.unreadable(name, &error.to_string()))
    }

    /// The journal holds a result that this step cannot produce.
    pub(super) fn unreadable(&self, name: &str, problem: &str) -> Halt {
        let words =
            format!("the journal's result of step {} cannot be read: {problem}", self.key(name));
        Halt::Refused(Box::new(Refusal::invalid_input(words)))
    }

    /// Changes a document.
    pub(super) fn write(&mut self, mode: Mode, fields: Value) -> Flow<()> {
        match self.ledger.write(mode, fields) {
            Ok(None) => Ok(()),
            Ok(Some(GiveUpReason::Limit(error))) => Err(Halt::Ended(WorkflowEnd::Limit(error))),
            Ok(Some(GiveUpReason::Repetition(error))) => {
                Err(Halt::Ended(WorkflowEnd::Failed(error)))
            }
            Err(refusal) => Err(Halt::Refused(Box::new(refusal))),
        }
    }

    /// Moves a document to another phase.
    pub(super) fn enter(&mut self, mode: Mode, phase: &str) -> Flow<()> {
        self.write(mode, json!({"current_phase": phase}))
    }

    /// Starts a mode's document, and links it to the run's own if that is another one.
    pub(super) fn start(&mut self, mode: Mode, mut fields: Value) -> Flow<()> {
        fields["active"] = json!(true);
        fields["start"] = json!(true);
        fields["task_description"] = json!(self.spec.task);
        if self.spec.mode == mode {
            if let Some(most) = self.spec.max_iterations {
                fields["max_iterations"] = json!(most);
            }
        } else {
            fields["linked_to"] = json!(self.spec.mode.name());
        }
        self.write(mode, fields)
    }

    /// Fails a document, and the run with it.
    pub(super) fn fail<T>(&mut self, mode: Mode, error: &str) -> Flow<T> {
        self.write(mode, json!({"run_outcome": "failed", "error": error}))?;
        Err(Halt::Ended(WorkflowEnd::Failed(error.to_owned())))
    }

    /// Ends a document that reached its limit, and the run with it.
    pub(super) fn exhaust<T>(&mut self, mode: Mode, error: &str) -> Flow<T> {
        self.write(mode, json!({"run_outcome": "failed", "error": error}))?;
        Err(Halt::Ended(WorkflowEnd::Limit(error.to_owned())))
    }

    /// Blocks a document until the person helps, and ends the run.
    pub(super) fn block<T>(&mut self, mode: Mode, reason: &str) -> Flow<T> {
        self.write(mode, json!({"run_outcome": "blocked_on_user", "error": reason}))?;
        Err(Halt::Ended(WorkflowEnd::Blocked(reason.to_owned())))
    }
}

//! Opens a run from its journal, which is empty for a new run.

use std::collections::BTreeMap;

use omx_agents::agent::ConversationId;
use omx_agents::results::ResultKind;
use omx_kernel::{Refusal, Timestamp};
use omx_runs::{Record, RunSpec, StepKey, Usage, WorkDifference};
use serde_json::json;

use super::document::DocumentQueue;
use super::state::{InterruptedStep, KnownConversation};
use super::{Engine, RunEffect, RunOutcome};
use crate::input::check_input;
use crate::workflow::{
    CompletedSteps, NextAction, ReplayCache, Seat, Step, StepKind, StepResult, WorkflowContext,
    WorkflowEnd,
};

/// What the person decided about an interrupted step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepDecision {
    /// Rerun it and everything after it.
    Rerun,
    /// Keep its result.
    Skip,
    /// Accept the workspace as it is.
    Adopt,
}

/// The contents of a journal.
#[derive(Default)]
struct Journaled {
    completed: CompletedSteps,
    interrupted: BTreeMap<StepKey, InterruptedStep>,
    usage: Usage,
    /// Milliseconds of work of all processes before the last one.
    worked_earlier: u64,
    /// The same, including the last process.
    worked: u64,
}

impl Engine {
    /// Opens a run from its journal, which is empty for a new run. Also returns the
    /// records that the decisions add to the journal.
    pub fn open(
        mut spec: RunSpec,
        context: WorkflowContext,
        records: &[Record],
        decisions: &BTreeMap<String, StepDecision>,
    ) -> Result<(Self, Vec<Record>), Refusal> {
        Seat::from_spec(&spec)?;
        let mut journaled = Journaled::default();
        for record in records {
            journaled.read(record, &mut spec);
        }
        let mut engine = Self {
            spec,
            context,
            completed: journaled.completed,
            replay_cache: ReplayCache::default(),
            interrupted: journaled.interrupted,
            active: BTreeMap::new(),
            usage: journaled.usage,
            worked_before: journaled.worked,
            opened_at: Timestamp::from_millis(0),
            documents: DocumentQueue::default(),
            next: None,
            stopping: None,
            missing_work: None,
            ended_by_workflow: false,
            is_interrupted: false,
            waiting: None,
            journal_failed: false,
            is_closing: false,
            closed: false,
        };
        let changes = engine.apply(decisions)?;
        Ok((engine, changes))
    }

    /// The workspace is not what the journal says. The person's decision about the step
    /// counts; without one, the run stops and asks for it.
    pub fn workspace_differs(
        &mut self,
        difference: WorkDifference,
        decisions: &BTreeMap<String, StepDecision>,
    ) -> Vec<Record> {
        let mut changes = Vec::new();
        let step = difference.step.clone();
        match decisions.get(step.as_str()) {
            Some(StepDecision::Rerun) => self.discard_from(&step, &mut changes),
            Some(StepDecision::Adopt | StepDecision::Skip) => {
                let WorkDifference { commit, tree, .. } = difference;
                changes.push(Record::WorkAdopted { step, commit, tree });
            }
            None => {
                self.missing_work = Some(format!(
                    "the work of step {step} is not what the journal says: {}; {} or \
                     decide {step}=adopt (accept the workspace as it is)",
                    difference.what,
                    rerun_decision(&step)
                ));
            }
        }
        changes
    }

    /// Applies the person's decisions. A run that ended as blocked or failed retries
    /// its last step.
    fn apply(
        &mut self,
        decisions: &BTreeMap<String, StepDecision>,
    ) -> Result<Vec<Record>, Refusal> {
        let mut changes = Vec::new();
        loop {
            match self.replay()?.next {
                NextAction::Diverged { step, input } => match decisions.get(step.as_str()) {
                    Some(StepDecision::Rerun) => self.discard_from(&step, &mut changes),
                    Some(StepDecision::Skip | StepDecision::Adopt) => {
                        self.completed.accept(&step, input.clone());
                        changes.push(Record::InputAccepted { step, input });
                    }
                    None => break,
                },
                NextAction::End(WorkflowEnd::Blocked(_) | WorkflowEnd::Failed(_)) => {
                    let Some(last) = self.completed.last().cloned() else { break };
                    let why = "the run ended with this step and was resumed";
                    self.discard(&last, why, &mut changes);
                    break;
                }
                NextAction::Begin(steps) => {
                    let mut skipped = false;
                    for step in steps {
                        skipped |= self.apply_to_interrupted(step, decisions, &mut changes)?;
                    }
                    if !skipped {
                        break;
                    }
                }
                NextAction::End(_) => break,
            }
        }
        Ok(changes)
    }

    /// Applies the decision about an interrupted step. Returns whether the step is now finished.
    fn apply_to_interrupted(
        &mut self,
        step: Step,
        decisions: &BTreeMap<String, StepDecision>,
        changes: &mut Vec<Record>,
    ) -> Result<bool, Refusal> {
        let decision = decisions.get(step.key.as_str());
        let (Some(decision), Some(begun)) = (decision, self.interrupted.get(&step.key)) else {
            return Ok(false);
        };
        if *decision == StepDecision::Rerun {
            self.discard(&step.key, DECIDED, changes);
            return Ok(false);
        }
        if !can_be_skipped(&step) {
            let words = format!(
                "{} cannot be skipped: it has no result to keep; {}",
                step.key,
                rerun_decision(&step.key)
            );
            return Err(Refusal::invalid_input(words));
        }
        let result = json!({
            "summary": "accepted as done by the person",
            "changed_files": [],
            "commands": [],
            "done": true,
            "blocked_reason": null,
        });
        let input = begun.input.clone();
        let done = StepResult { result: result.clone(), input, tree: None };
        self.interrupted.remove(&step.key);
        self.completed.add(step.key.clone(), done);
        changes.push(Record::StepFinished { step: step.key, result, tree: None });
        Ok(true)
    }

    /// Discards a finished step and everything after it, the last first. A kill in
    /// between leaves the step itself undecided, and nothing after it that was made
    /// from its old result.
    fn discard_from(&mut self, step: &StepKey, changes: &mut Vec<Record>) {
        let keys = self.completed.keys();
        let from = keys.iter().position(|key| key == step).unwrap_or(keys.len());
        let finished = keys.iter().skip(from).rev().cloned();
        let discarded: Vec<StepKey> = self.interrupted.keys().cloned().chain(finished).collect();
        for key in discarded {
            self.discard(&key, DECIDED, changes);
        }
    }

    fn discard(&mut self, step: &StepKey, why: &str, changes: &mut Vec<Record>) {
        self.completed.discard(step);
        self.interrupted.remove(step);
        changes.push(Record::StepDiscarded { step: step.clone(), why: why.to_owned() });
    }

    /// The input of a finished step has changed.
    pub(super) fn diverged(&mut self, key: &StepKey, out: &mut Vec<RunEffect>, now: Timestamp) {
        let words = format!(
            "the journal does not match this run: the input of step {key} has changed; \
             {} or decide {key}=skip (keep its result)",
            rerun_decision(key)
        );
        self.stop(RunOutcome::Blocked(words), out, now);
    }

    /// The input of an interrupted step has changed.
    pub(super) fn interrupted_diverged(
        &mut self,
        step: &Step,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let key = &step.key;
        let mut words =
            format!("the input of step {key} has changed since it began; {}", rerun_decision(key));
        if can_be_skipped(step) {
            words = format!("{words} or {}", skip_decision(key));
        }
        self.stop(RunOutcome::Blocked(words), out, now);
    }
}

impl Journaled {
    fn read(&mut self, record: &Record, spec: &mut RunSpec) {
        match record {
            Record::StepStarted { step, input, .. } => {
                let conversation = KnownConversation::default();
                let begun = InterruptedStep { input: input.clone(), conversation, rest: None };
                self.interrupted.insert(step.clone(), begun);
            }
            Record::Conversation { step, id, .. } => {
                if let Some(begun) = self.interrupted.get_mut(step) {
                    let id = ConversationId::new(id);
                    begun.conversation = KnownConversation { id, is_delivered: false };
                }
            }
            Record::StepFinished { step, result, tree } => {
                let input = self.interrupted.remove(step).map(|begun| begun.input);
                let (input, result) = (input.unwrap_or_default(), result.clone());
                self.completed.add(step.clone(), StepResult { result, input, tree: tree.clone() });
            }
            Record::StepDiscarded { step, .. } => {
                self.interrupted.remove(step);
                self.completed.discard(step);
            }
            Record::InputAccepted { step, input } => self.completed.accept(step, input.clone()),
            Record::Delivered { step } => self.delivered(step),
            Record::Usage { step, usage } => {
                self.usage.add(*usage);
                self.delivered(step);
            }
            Record::LimitRaised { .. } | Record::BudgetRaised { .. } => spec.apply(record),
            Record::SpecChanged { .. } => self.change_spec(record, spec),
            Record::Opened { .. } => self.worked_earlier = self.worked,
            Record::Worked { worked_ms } | Record::Closed { worked_ms, .. } => {
                self.worked = self.worked_earlier.saturating_add(*worked_ms);
            }
            Record::StepFailed { .. }
            | Record::Waiting { .. }
            | Record::Committed { .. }
            | Record::Note { .. }
            | Record::WorkAdopted { .. } => {}
        }
    }

    /// The person changed the spec. Checks that are done keep their results, and another
    /// agent cannot resume a conversation of the one before it.
    fn change_spec(&mut self, record: &Record, spec: &mut RunSpec) {
        let (check, agent) = (check_input(spec), spec.agent.clone());
        spec.apply(record);
        let new_check = check_input(spec);
        self.completed.accept_all(&check, &new_check);
        for begun in self.interrupted.values_mut() {
            if begun.input == check {
                begun.input.clone_from(&new_check);
            }
            if spec.agent != agent {
                begun.conversation.id = None;
            }
        }
    }

    /// The agent of an interrupted step received its task.
    fn delivered(&mut self, step: &StepKey) {
        if let Some(begun) = self.interrupted.get_mut(step) {
            begun.conversation.is_delivered = begun.conversation.id.is_some();
        }
    }
}

/// The reason for discarding a step that the person named.
const DECIDED: &str = "the person decided to rerun it";

/// Whether a step without a result can count as done. Work is in the workspace and
/// gets checked there; other steps consist only of their result.
fn can_be_skipped(step: &Step) -> bool {
    matches!(&step.kind, StepKind::Agent(agent) if agent.wants == ResultKind::Work)
}

/// The decision that reruns a step, for messages.
pub(super) fn rerun_decision(key: &StepKey) -> String {
    format!("decide {key}=rerun (rerun it and everything after it)")
}

/// The decision that accepts a step as done, for messages.
pub(super) fn skip_decision(key: &StepKey) -> String {
    format!("decide {key}=skip (accept it as done)")
}

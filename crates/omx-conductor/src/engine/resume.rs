//! Taking a run up: from nothing, or from what its journal says.

use std::collections::BTreeMap;

use omx_agents::agent::ConversationId;
use omx_agents::results::ResultKind;
use omx_kernel::approval::AllowLevel;
use omx_kernel::{Refusal, SessionId, Timestamp};
use serde_json::json;

use super::{Effect, Engine, Known, Left, Outcome};
use crate::story::{End, Finished, Next, Past, Step, StepKey, Work, tell};
use omx_runs::spec::RunSpec;
use omx_runs::{Record, Usage};

/// What the person decided about a step that cannot simply go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decide {
    /// Do it, and everything after it, again.
    Rerun,
    /// Keep what it gave.
    Skip,
}

impl Engine {
    /// The machine of a run, from its journal; an empty one for a new run.
    /// Also tells what has to be added to the journal because of it.
    pub fn take_up(
        mut asked: RunSpec,
        session: SessionId,
        records: &[Record],
        decisions: &BTreeMap<String, Decide>,
    ) -> Result<(Self, Vec<Record>), Refusal> {
        let mut past = Past::default();
        let mut left: BTreeMap<StepKey, Left> = BTreeMap::new();
        let mut spent = Usage::default();
        // By processes that are gone, and with the last one of them.
        let (mut worked_earlier, mut worked_before) = (0_u64, 0_u64);
        for record in records {
            match record {
                Record::StepStarted { step, input, .. } => {
                    let begun = Left { input: input.clone(), talk: Known::default() };
                    left.insert(step.clone(), begun);
                }
                Record::Conversation { step, id, .. } => {
                    if let Some(begun) = left.get_mut(step) {
                        let conversation = ConversationId::new(id);
                        begun.talk = Known { conversation, has_heard: false };
                    }
                }
                Record::StepFinished { step, result, tree } => {
                    let input = left.remove(step).map(|left| left.input).unwrap_or_default();
                    let finished = Finished { result: result.clone(), input, tree: tree.clone() };
                    past.add(step.clone(), finished);
                }
                Record::StepDiscarded { step, .. } => {
                    left.remove(step);
                    past.forget(step);
                }
                Record::InputAccepted { step, input } => past.accept(step, input.clone()),
                Record::Delivered { step } => heard(&mut left, step),
                Record::Usage { step, usage } => {
                    spent.add(*usage);
                    heard(&mut left, step);
                }
                Record::LimitRaised { max_iterations } => {
                    asked.max_iterations = Some(*max_iterations)
                }
                Record::BudgetRaised { budget } => {
                    asked.budget = asked.budget.changed_by(*budget);
                }
                Record::Opened { .. } => worked_earlier = worked_before,
                Record::Worked { worked_ms } | Record::Closed { worked_ms, .. } => {
                    worked_before = worked_earlier.saturating_add(*worked_ms);
                }
                Record::StepFailed { .. } | Record::Waiting { .. } => {}
            }
        }
        let allow = AllowLevel::parse(&asked.allow).ok_or_else(|| {
            Refusal::invalid_input(format!("unknown allowance {:?}", asked.allow))
        })?;
        let mut engine = Self {
            asked,
            session,
            allow,
            past,
            left,
            active: BTreeMap::new(),
            spent,
            worked_before,
            taken_up: Timestamp::from_millis(0),
            stopping: None,
            ended_by_story: false,
            waiting: None,
            closed: false,
        };
        let changes = engine.decide(decisions)?;
        Ok((engine, changes))
    }

    /// Carries the person's decisions out, and takes back what ended the run:
    /// a resume of a run that was blocked or failed tries its last step again.
    fn decide(&mut self, decisions: &BTreeMap<String, Decide>) -> Result<Vec<Record>, Refusal> {
        let mut changes = Vec::new();
        loop {
            let telling = tell(&self.asked, &self.session, &self.past)?;
            match telling.next {
                Next::Diverged { step, input } => match decisions.get(step.as_str()) {
                    Some(Decide::Rerun) => self.forget_from(&step, &mut changes),
                    Some(Decide::Skip) => {
                        self.past.accept(&step, input.clone());
                        changes.push(Record::InputAccepted { step, input });
                    }
                    None => break,
                },
                Next::Ended(End::Blocked(_) | End::Failed(_)) => {
                    let Some(last) = self.past.last().cloned() else { break };
                    let why = "the run ended with it and is taken up again";
                    self.forget(&last, why, &mut changes);
                    break;
                }
                Next::Do(steps) => {
                    let mut skipped = false;
                    for step in steps {
                        skipped |= self.decide_begun(step, decisions, &mut changes)?;
                    }
                    if !skipped {
                        break;
                    }
                }
                Next::Ended(_) => break,
            }
        }
        Ok(changes)
    }

    /// Carries out what was decided of a step that is begun. Tells whether it
    /// is finished by that.
    fn decide_begun(
        &mut self,
        step: Step,
        decisions: &BTreeMap<String, Decide>,
        changes: &mut Vec<Record>,
    ) -> Result<bool, Refusal> {
        let decided = decisions.get(step.key.as_str());
        let (Some(decided), Some(left)) = (decided, self.left.get(&step.key)) else {
            return Ok(false);
        };
        if *decided == Decide::Rerun {
            self.forget(&step.key, DECIDED, changes);
            return Ok(false);
        }
        if !can_be_skipped(&step) {
            let words = format!(
                "{} has given no result to keep; decide with {}",
                step.key,
                rerun(&step.key)
            );
            return Err(Refusal::invalid_input(words));
        }
        let result = json!({
            "summary": "taken as done, as the person decided",
            "changed_files": [],
            "commands": [],
            "done": true,
            "blocked_reason": null,
        });
        let finished = Finished { result: result.clone(), input: left.input.clone(), tree: None };
        self.left.remove(&step.key);
        self.past.add(step.key.clone(), finished);
        changes.push(Record::StepFinished { step: step.key, result, tree: None });
        Ok(true)
    }

    /// Forgets a finished step and everything that came after it, the last
    /// first: whoever is killed in between leaves the step itself to be decided
    /// on again, and nothing after it that was made from its old result.
    fn forget_from(&mut self, step: &StepKey, changes: &mut Vec<Record>) {
        let keys = self.past.keys();
        let from = keys.iter().position(|key| key == step).unwrap_or(keys.len());
        let finished = keys.iter().skip(from).rev().cloned();
        let forgotten: Vec<StepKey> = self.left.keys().cloned().chain(finished).collect();
        for key in forgotten {
            self.forget(&key, DECIDED, changes);
        }
    }

    fn forget(&mut self, step: &StepKey, why: &str, changes: &mut Vec<Record>) {
        self.past.forget(step);
        self.left.remove(step);
        changes.push(Record::StepDiscarded { step: step.clone(), why: why.to_owned() });
    }

    /// A finished step would be given something else now.
    pub(super) fn diverged(&mut self, key: &StepKey, out: &mut Vec<Effect>, now: Timestamp) {
        let words = format!(
            "step {key} was given something else than it would be given now; decide with {} or \
             --decide {key}=skip (keep its result)",
            rerun(key)
        );
        self.stop(Outcome::Blocked(words), out, now);
    }

    /// A step that is begun would be given something else now.
    pub(super) fn diverged_begun(&mut self, step: &Step, out: &mut Vec<Effect>, now: Timestamp) {
        let key = &step.key;
        let mut words = format!(
            "step {key} was begun with something else than it would be given now; decide with {}",
            rerun(key)
        );
        if can_be_skipped(step) {
            words = format!("{words} or {}", skip(key));
        }
        self.stop(Outcome::Blocked(words), out, now);
    }
}

/// The agent of a step that is begun has heard its errand.
fn heard(left: &mut BTreeMap<StepKey, Left>, step: &StepKey) {
    if let Some(begun) = left.get_mut(step) {
        begun.talk.has_heard = begun.talk.conversation.is_some();
    }
}

/// Why a step was forgotten that the person named.
const DECIDED: &str = "the person decided to do it again";

/// Whether a step can be taken as done that has given no result: work is in
/// the folder, and is checked there; the others are nothing but their result.
fn can_be_skipped(step: &Step) -> bool {
    matches!(&step.work, Work::Errand(errand) if errand.wants == ResultKind::Work)
}

/// How a step is done again, for a sentence.
pub(super) fn rerun(key: &StepKey) -> String {
    format!("--decide {key}=rerun (do it and all after it again)")
}

/// How a step is taken as done, for a sentence.
pub(super) fn skip(key: &StepKey) -> String {
    format!("--decide {key}=skip (take it as done)")
}

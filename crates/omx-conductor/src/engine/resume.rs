//! Taking a run up: from nothing, or from what its journal says.

use std::collections::BTreeMap;

use omx_agents::agent::ConversationId;
use omx_kernel::approval::Allow;
use omx_kernel::{Refusal, SessionId, Timestamp};

use super::{Engine, Known, Left};
use crate::asked::Asked;
use crate::input::input_hash;
use crate::record::{Record, Spent};
use crate::story::{End, Finished, Next, Past, StepKey, tell};

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
        mut asked: Asked,
        session: SessionId,
        records: &[Record],
        decisions: &BTreeMap<String, Decide>,
    ) -> Result<(Self, Vec<Record>), Refusal> {
        let mut past = Past::default();
        let mut left: BTreeMap<StepKey, Left> = BTreeMap::new();
        let mut spent = Spent::default();
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
                Record::StepForgotten { step, .. } => {
                    left.remove(step);
                    past.forget(step);
                }
                Record::InputAccepted { step, input } => past.accept(step, input.clone()),
                Record::Spent { step, usage } => {
                    spent.add(*usage);
                    // Nothing is spent on what was not heard.
                    if let Some(begun) = left.get_mut(step) {
                        begun.talk.has_heard = begun.talk.conversation.is_some();
                    }
                }
                Record::LimitRaised { max_iterations } => {
                    asked.max_iterations = Some(*max_iterations)
                }
                Record::Opened { .. } => worked_earlier = worked_before,
                Record::Worked { worked_ms } | Record::Closed { worked_ms, .. } => {
                    worked_before = worked_earlier.saturating_add(*worked_ms);
                }
                Record::StepFailed { .. } | Record::Waiting { .. } => {}
            }
        }
        let allow = Allow::named(&asked.allow)
            .ok_or_else(|| Refusal::input(format!("unknown allowance {:?}", asked.allow)))?;
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
                    self.past.forget(&last);
                    let why = "the run ended with it and is taken up again".to_owned();
                    changes.push(Record::StepForgotten { step: last, why });
                    break;
                }
                Next::Do(steps) => {
                    for step in steps {
                        let input = input_hash(&self.asked, &self.past, &step);
                        let begun = self.left.get(&step.key);
                        let differs = begun.is_some_and(|left| left.input != input);
                        let decided = decisions.get(step.key.as_str()) == Some(&Decide::Rerun);
                        if begun.is_some() && decided {
                            self.left.remove(&step.key);
                            let why = "the person decided to do it again".to_owned();
                            changes.push(Record::StepForgotten { step: step.key, why });
                        } else if differs {
                            break;
                        }
                    }
                    break;
                }
                Next::Ended(_) => break,
            }
        }
        Ok(changes)
    }

    fn forget_from(&mut self, step: &StepKey, changes: &mut Vec<Record>) {
        let keys = self.past.keys();
        let from = keys.iter().position(|key| key == step).unwrap_or(keys.len());
        let forgotten: Vec<StepKey> = keys[from..].to_vec();
        for key in forgotten {
            self.past.forget(&key);
            let why = "the person decided to do it again".to_owned();
            changes.push(Record::StepForgotten { step: key, why });
        }
    }
}

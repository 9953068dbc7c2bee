//! Carrying effects out, in order, as the program does; and dying in between.

use std::collections::BTreeMap;

use omx_agents::agent::AgentCommand;
use omx_conductor::engine::{Decide, Effect, Engine, Outcome};
use omx_conductor::story::Entry;
use omx_runs::Record;
use serde_json::Value;

use super::world::{Coming, Crashed, World};
use crate::kit;

impl World {
    /// Takes the run up from what its journal says.
    pub fn take_up(&mut self, decisions: &BTreeMap<String, Decide>) -> Result<Engine, Crashed> {
        self.note(|| format!("== taken up, decided: {decisions:?}"));
        let asked = self.scenario.asked.clone();
        let records = self.journal.read();
        let taken = Engine::take_up(asked, kit::session(), &records, decisions);
        let (engine, changes) = match taken {
            Ok(taken) => taken,
            Err(refusal) => self.broken("a run can be taken up", refusal.message),
        };
        self.journal.is_opened();
        for change in changes {
            if self.crashes() {
                return Err(Crashed);
            }
            self.note(|| format!("   changes {change:?}"));
            self.check_change(&change, decisions);
            self.journal.append(&change, 0);
        }
        if let Err(refusal) = self.documents.taken_up(self.now) {
            self.broken("documents of a dead process can be let go of", refusal.message);
        }
        Ok(engine)
    }

    fn crashes(&mut self) -> bool {
        let crashes =
            self.scenario.crashes_left > 0 && self.random.one_in(self.scenario.crash_one_in);
        self.scenario.crashes_left -= u32::from(crashes);
        crashes
    }

    /// Carries effects out. Says how the run was let go of, if it was.
    pub fn carry_out(&mut self, effects: Vec<Effect>) -> Result<Option<Outcome>, Crashed> {
        let mut closed = None;
        for effect in effects {
            if closed.is_some() {
                self.broken("nothing follows the close", format!("{effect:?}"));
            }
            self.note(|| format!("   {}", shown(&effect)));
            self.check_effect(&effect);
            if self.crashes() {
                // It dies before, in the middle of, or right after this one.
                if self.random.one_in(2) {
                    let how_far = self.random.below(3);
                    self.carry_part(effect, how_far);
                }
                return Err(Crashed);
            }
            closed = self.carry(effect);
        }
        Ok(closed)
    }

    fn carry(&mut self, effect: Effect) -> Option<Outcome> {
        match effect {
            Effect::Record(record) => {
                match &record {
                    Record::StepDiscarded { step, .. } => self.is_forgotten(step),
                    Record::StepFinished { step, .. } => self.is_kept(step),
                    _ => {}
                }
                let worked = self.worked_ms();
                self.journal.append(&record, worked);
            }
            Effect::Documents(entries) => self.enter(&entries, usize::MAX),
            Effect::Note(mode, fields) => self.note_in_document(mode, &fields),
            Effect::Open(step, talk) => self.open(step, talk),
            Effect::Order(step, order) => {
                // One that is gone ignores it.
                let number = self.agent_of(&step)?;
                match order {
                    AgentCommand::Send(message) => self.send(number, &message),
                    AgentCommand::Answer(approval, decision) => {
                        self.answer_approval(number, &approval, &decision);
                    }
                    AgentCommand::End => self.end(number),
                    AgentCommand::Steer(_) | AgentCommand::Interrupt => {}
                }
            }
            Effect::Check(step, _) => {
                self.checks.insert(step.clone());
                self.soon(300_000, Coming::Check(step));
            }
            Effect::StopCheck(step) => self.soon(5_000, Coming::Stopped(step)),
            Effect::Keep(step, plan) => {
                if plan.get("plan_markdown").is_none() {
                    self.broken("what is kept is a plan", plan);
                }
                self.soon(1_000, Coming::Kept(step));
            }
            Effect::Settle(step) => self.soon(2_000, Coming::Settled(step)),
            Effect::NeedsPerson(step, approval, _) => {
                // Sometimes twice: two people, or one who is impatient.
                if self.random.one_in(4) {
                    self.soon(7_200_000, Coming::Answer(step.clone(), approval.clone()));
                }
                self.soon(3_600_000, Coming::Answer(step, approval));
            }
            Effect::Show(_) => {}
            Effect::Close(outcome) => return Some(outcome),
        }
        None
    }

    /// What of an effect is done when the process dies in it.
    fn carry_part(&mut self, effect: Effect, how_far: usize) {
        match effect {
            Effect::Documents(entries) => self.enter(&entries, how_far),
            // A line that is not whole is cut off; one that is whole counts.
            Effect::Record(_) if how_far == 0 => {}
            Effect::Close(_) => {}
            effect => {
                self.carry(effect);
            }
        }
    }

    /// Writes the changes that are new, or so many of them.
    fn enter(&mut self, entries: &[Entry], most: usize) {
        let new = match self.documents.new_ones(entries) {
            Ok(new) => new,
            Err(how) => self.broken("a run's documents have one history", how),
        };
        for entry in new.into_iter().take(most) {
            let written = self.documents.enter(entry, &self.folder.files, self.now);
            if let Err(refusal) = written {
                return self.refused(&refusal.message);
            }
        }
    }

    fn note_in_document(&mut self, mode: omx_kernel::Mode, fields: &Value) {
        let written = self.documents.write(mode, fields, &self.folder.files, self.now);
        if let Err(refusal) = written {
            self.refused(&refusal.message);
        }
    }

    /// Only a cancel makes a document refuse what the run writes.
    fn refused(&mut self, message: &str) {
        if !self.documents.are_cancelled {
            self.broken("documents take what the run writes", message);
        }
    }
}

fn shown(effect: &Effect) -> String {
    match effect {
        Effect::Documents(entries) => {
            let last: Vec<String> = entries
                .iter()
                .rev()
                .take(2)
                .map(|entry| format!("{} {}", entry.mode.name(), entry.fields))
                .collect();
            format!("Documents({}, last {})", entries.len(), last.join(" < "))
        }
        Effect::Order(step, AgentCommand::Send(message)) => {
            let text: String = message.text.chars().take(60).collect();
            format!("Send({step}, {text:?}…)")
        }
        Effect::Keep(step, _) => format!("Keep({step})"),
        other => format!("{other:?}"),
    }
}

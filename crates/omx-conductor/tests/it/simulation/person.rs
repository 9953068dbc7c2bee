//! The person: stops a run, decides, raises limits, takes it up again.

use std::collections::BTreeMap;

use omx_conductor::engine::{Decide, Happening, Outcome};
use omx_kernel::Mode;
use omx_runs::Record;
use omx_runs::StepKey;

use super::folder::Deed;
use super::world::{Coming, Left, World};

impl World {
    /// Something the person does while the run works.
    pub fn person_acts(&mut self) -> Option<Happening> {
        let is_due = |after: Option<u32>, now: u32| after.is_some_and(|after| now >= after);
        if is_due(self.scenario.cancel_after, self.happenings) {
            let mode = self.scenario.asked.mode;
            if self.documents.active().contains(&mode) {
                self.scenario.cancel_after = None;
                self.documents.cancel(self.now);
                self.note(|| "!! the run is cancelled".to_owned());
                self.soon(5_000, Coming::CancelSeen);
            }
        }
        if is_due(self.scenario.interrupt_after, self.happenings) {
            self.scenario.interrupt_after = None;
            return Some(Happening::Interrupted);
        }
        None
    }

    /// Whether the run is taken up again, and with which decisions.
    pub fn person_decides(&mut self, left: &Left) -> Option<BTreeMap<String, Decide>> {
        if self.documents.are_cancelled {
            return None;
        }
        let mut decisions = BTreeMap::new();
        if let Left::Closed(outcome) = left {
            if self.scenario.resumes == 0 || matches!(outcome, Outcome::Complete(_)) {
                return None;
            }
            self.scenario.resumes -= 1;
            self.help(outcome, &mut decisions);
        }
        self.change_task();
        Some(decisions)
    }

    /// Does something about what stopped the run, or does not.
    fn help(&mut self, outcome: &Outcome, decisions: &mut BTreeMap<String, Decide>) {
        if self.random.one_in(4) {
            return;
        }
        match outcome {
            Outcome::Budget(_) => {
                let budget = &mut self.scenario.asked.budget;
                budget.tokens = budget.tokens.map(|most| most + 50_000);
                budget.micro_usd = budget.micro_usd.map(|most| most + 50_000);
                budget.seconds = budget.seconds.map(|most| most + 50_000);
            }
            Outcome::Limit(_) => {
                let mode = self.scenario.asked.mode;
                if let Some((_, most)) = self.documents.iteration(mode) {
                    self.journal.append(&Record::LimitRaised { max_iterations: most + 2 }, 0);
                }
            }
            Outcome::Blocked(words) => {
                if let Some((_, rest)) = words.split_once("--decide ") {
                    let step = rest.split(['=', ' ']).next().unwrap_or_default();
                    let offers_skip = words.contains(&format!("--decide {step}=skip"));
                    let decide = if offers_skip && self.random.one_in(2) {
                        Decide::Skip
                    } else {
                        Decide::Rerun
                    };
                    self.seen.insert(format!("decided {decide:?}"));
                    decisions.insert(step.to_owned(), decide);
                }
            }
            _ => {}
        }
    }

    fn change_task(&mut self) {
        if self.scenario.changes_task {
            self.scenario.changes_task = false;
            self.scenario.asked.task.push_str(", politely");
        }
    }

    /// What taking the run up changes in the journal must have a reason.
    pub fn check_change(&mut self, change: &Record, decisions: &BTreeMap<String, Decide>) {
        if let Record::StepFinished { step, .. } = change {
            if decisions.get(step.as_str()) != Some(&Decide::Skip) {
                self.broken("only the person takes a step as done", step);
            }
            self.rules.skipped.insert(step.to_string());
            self.rules.is_skipped(step);
        }
        if let Record::StepDiscarded { step, .. } = change {
            let is_decided = decisions.values().any(|decide| *decide == Decide::Rerun);
            let ended_run = matches!(
                self.folder.last_answer(step),
                Some(Deed::Answered { ends_run: true, .. })
            );
            if !is_decided && !ended_run && !self.ended_with(step) {
                self.broken("a result is only given up for a reason", step);
            }
            self.is_forgotten(step);
        }
    }

    /// Whether the run ended with this step though its answer was a good one.
    fn ended_with(&self, step: &StepKey) -> bool {
        let name = step.as_str();
        let is_mending = name.rsplit('.').next().is_some_and(|last| last.starts_with("fix"));
        (is_mending && self.rules.is_stuck()) || self.changed_nothing() || self.may_be_third(name)
    }

    /// Whether the same can have come back with this step for the third time.
    /// The process may have been killed before it could write that down.
    fn may_be_third(&self, name: &str) -> bool {
        let number = match self.scenario.asked.mode {
            Mode::Ultraqa => name.strip_prefix("check"),
            Mode::Autopilot if name.contains(".review.") => {
                name.strip_prefix('c').and_then(|rest| rest.split('.').next())
            }
            _ => None,
        };
        number.and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| number >= 3)
    }
}

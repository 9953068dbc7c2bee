//! The person: stops a run, decides, raises limits, resumes it.

use std::collections::BTreeMap;

use omx_conductor::drive::ControlEvent;
use omx_conductor::engine::{RunOutcome, StepDecision};
use omx_kernel::Mode;
use omx_runs::{Budget, Record, StepKey};

use super::workspace::WorkspaceFact;
use super::world::{ProcessEnd, SimWorld};

impl SimWorld {
    /// What the person does while the run works.
    pub fn person_acts(&mut self) {
        self.person_may_cancel();
        let is_due = self.scenario.interrupt_after.is_some_and(|after| self.events >= after);
        if is_due {
            self.scenario.interrupt_after = None;
            self.rules.is_interrupted = true;
            self.deliver(100, ControlEvent::Stop);
        }
        self.person_may_change_limits();
    }

    /// Cancels the run if it is time and nobody else holds the lock.
    pub fn person_may_cancel(&mut self) {
        let is_due = self.scenario.cancel_after.is_some_and(|after| self.events >= after);
        if !is_due || self.is_locked() || self.documents.are_cancelled {
            return;
        }
        // Before that, the process cannot tell a new cancel from an old one.
        if !self.rules.has_found_documents {
            return;
        }
        let mode = self.scenario.spec.mode;
        if self.documents.active().contains(&mode) {
            self.scenario.cancel_after = None;
            self.scenario.cancels_at_end = false;
            self.documents.cancel(self.scenario.context.dialect, self.now);
            self.rules.cancelled_at = Some(self.now);
            self.note(|| "!! the run is cancelled".to_owned());
            self.deliver(200, ControlEvent::DocumentsCancelled);
            // `cancel` signals the process as well.
            if self.random.one_in(2) {
                self.deliver(300, ControlEvent::Stop);
            }
        }
    }

    /// Whether the run is resumed, and with which decisions.
    pub fn person_decides(&mut self, left: &ProcessEnd) -> Option<BTreeMap<String, StepDecision>> {
        let mut decisions = BTreeMap::new();
        if self.documents.are_cancelled {
            if self.scenario.resumes == 0 || self.random.one_in(2) {
                return None;
            }
            // A cancel of an earlier process is none of the next one.
            self.documents.are_cancelled = false;
            self.seen.insert("resumed after a cancel".to_owned());
        }
        if let ProcessEnd::Closed(outcome) = left {
            if self.scenario.resumes == 0 || matches!(outcome, RunOutcome::Complete(_)) {
                return None;
            }
            self.scenario.resumes -= 1;
            self.help(outcome, &mut decisions);
        }
        self.change_task();
        Some(decisions)
    }

    /// Does something about what stopped the run, or does not.
    fn help(&mut self, outcome: &RunOutcome, decisions: &mut BTreeMap<String, StepDecision>) {
        if self.random.one_in(4) {
            return;
        }
        match outcome {
            RunOutcome::Budget(_) => {
                let budget = self.budget();
                let more = |most: Option<u64>| most.map(|most| most + 50_000);
                let budget = Budget {
                    tokens: more(budget.tokens),
                    micro_usd: more(budget.micro_usd),
                    seconds: more(budget.seconds),
                };
                self.journal.append(&Record::BudgetRaised { budget }, 0);
            }
            RunOutcome::Limit(_) => {
                let mode = self.scenario.spec.mode;
                if let Some((_, most)) = self.documents.iteration(mode) {
                    self.journal.append(&Record::LimitRaised { max_iterations: most + 2 }, 0);
                }
            }
            RunOutcome::Blocked(words) => {
                let offered = words.split_whitespace().find_map(|word| word.split_once('='));
                if let Some((step, _)) = offered {
                    let offers_skip = words.contains(&format!("decide {step}=skip"));
                    let decision = if offers_skip && self.random.one_in(2) {
                        StepDecision::Skip
                    } else {
                        StepDecision::Rerun
                    };
                    self.seen.insert(format!("decided {decision:?}"));
                    decisions.insert(step.to_owned(), decision);
                }
            }
            _ => {}
        }
    }

    fn change_task(&mut self) {
        if self.scenario.changes_task {
            self.scenario.changes_task = false;
            let task = self.scenario.spec.task.raw();
            self.scenario.spec.task = format!("{task}, politely").into();
        }
    }

    /// What opening the run changes in the journal must have a reason.
    pub fn check_change(&self, change: &Record) {
        if let Record::StepFinished { step, .. } = change
            && self.decisions.get(step.as_str()) != Some(&StepDecision::Skip)
        {
            self.fail("only the person accepts a step as done", step);
        }
        if let Record::StepDiscarded { step, .. } = change {
            let is_decided =
                self.decisions.values().any(|decision| *decision == StepDecision::Rerun);
            let ended_run = matches!(
                self.workspace.last_answer(step),
                Some(WorkspaceFact::Answered { ends_run: true, .. })
            );
            if !is_decided && !ended_run && !self.ended_with(step) {
                self.fail("a result is only discarded for a reason", step);
            }
        }
    }

    /// A change of the journal that opening the run made.
    pub fn is_changed(&mut self, change: &Record) {
        match change {
            Record::StepFinished { step, .. } => {
                self.rules.skipped.insert(step.to_string());
                self.rules.is_skipped(step);
            }
            Record::StepDiscarded { step, .. } => self.is_discarded(step),
            _ => {}
        }
    }

    /// Whether the run ended with this step though its answer was a good one.
    fn ended_with(&self, step: &StepKey) -> bool {
        let name = step.as_str();
        let is_fix = name.rsplit('.').next().is_some_and(|last| last.starts_with("fix"));
        (is_fix && self.rules.is_stuck()) || self.changed_nothing() || self.may_be_third(name)
    }

    /// Whether the same can have come back with this step for the third time.
    /// The process may have been killed before it could write that down.
    fn may_be_third(&self, name: &str) -> bool {
        let number = match self.scenario.spec.mode {
            Mode::Ultraqa => name.strip_prefix("check"),
            Mode::Autopilot if name.contains(".review.") => {
                name.strip_prefix('c').and_then(|rest| rest.split('.').next())
            }
            _ => None,
        };
        number.and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| number >= 3)
    }
}

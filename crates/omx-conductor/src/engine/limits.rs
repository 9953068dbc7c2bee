//! Limits that the person changes while the run is in progress. They are in force at
//! once: a lower one that is already reached stops the run, and a run that is being
//! stopped at its limit continues with a higher one.

use omx_kernel::Timestamp;
use omx_runs::progress::Progress;
use omx_runs::{LimitChange, LimitRequestId, Record};

use super::state::{AfterEnd, StepState};
use super::{Engine, RunEffect, RunOutcome};
use crate::workflow::{NextAction, WorkflowEnd};

impl Engine {
    pub(super) fn limits_requested(
        &mut self,
        id: LimitRequestId,
        change: LimitChange,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        if self.journal_failed {
            // The request stays for the next process.
            return;
        }
        let LimitChange { max_iterations, budget } = change;
        // A process that was killed after the record has left its request behind.
        let new_iterations = max_iterations.filter(|most| self.spec.max_iterations != Some(*most));
        let is_new_budget = self.spec.budget.changed_by(budget) != self.spec.budget;
        if let Some(max_iterations) = new_iterations {
            self.spec.max_iterations = Some(max_iterations);
            out.push(RunEffect::Record(Record::LimitRaised { max_iterations }));
        }
        if is_new_budget {
            self.spec.budget = self.spec.budget.changed_by(budget);
            out.push(RunEffect::Record(Record::BudgetRaised { budget }));
        }
        if new_iterations.is_some() || is_new_budget {
            let note = "the person changed the limits".to_owned();
            out.push(RunEffect::Show(Progress::Note(note.into())));
            self.apply_limits(out, now);
        }
        // After the documents, because whoever asked then reads them; before the end of the
        // run, after which nothing is carried out.
        let at = out.iter().position(|effect| matches!(effect, RunEffect::Close(_)));
        out.insert(at.unwrap_or(out.len()), RunEffect::CloseLimitRequest(id));
    }

    /// Stops or continues the run as its new limits demand.
    fn apply_limits(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        let budget = self.exhausted_budget(now).map(RunOutcome::Budget);
        let reached = budget.or_else(|| self.reached_limit().map(RunOutcome::Limit));
        // A run that the person interrupted does not continue with a higher limit.
        let reached = reached.or_else(|| self.is_interrupted.then_some(RunOutcome::Interrupted));
        match (&self.stopping, reached) {
            (None, Some(reached)) => self.stop(reached, out, now),
            (None, None) => self.update_limit(out),
            // The workflow's last changes are being written.
            (Some(RunOutcome::Budget(_) | RunOutcome::Limit(_)), _) if self.ended_by_workflow => {}
            (Some(RunOutcome::Budget(_) | RunOutcome::Limit(_)), Some(reached)) => {
                self.take_back_end();
                self.stopping = Some(reached);
                self.close_if_idle(out, now);
            }
            (Some(RunOutcome::Budget(_) | RunOutcome::Limit(_)), None) => {
                self.continue_run(out, now);
            }
            (Some(_), _) => {}
        }
    }

    /// Why the workflow ends at its iteration limit, if it does.
    fn reached_limit(&mut self) -> Option<String> {
        match self.replay().ok()?.next {
            NextAction::End(WorkflowEnd::Limit(words)) => Some(words),
            _ => None,
        }
    }

    /// Continues a run that was being stopped. What was ended for that starts again.
    fn continue_run(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        self.stopping = None;
        self.take_back_end();
        for active in self.active.values_mut() {
            if active.state == StepState::Ending(AfterEnd::Drop) {
                let after = active.rest.take().map_or(AfterEnd::Reopen, AfterEnd::Rest);
                active.state = StepState::Ending(after);
            }
        }
        self.update_limit(out);
        if !self.documents.is_opening() {
            self.advance(out, now);
        }
    }
}

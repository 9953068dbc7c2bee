//! Limits the person changes while the run works, and what must hold for them.

use omx_conductor::drive::ControlEvent;
use omx_kernel::{Mode, Timestamp};
use omx_runs::{LimitChange, LimitRequestId};

use super::world::SimWorld;

/// How long a run may take to act on a new limit.
const LIMIT_MS: i64 = 1_000;

impl SimWorld {
    /// Changes a limit if it is time: up or down, sometimes to what it was.
    pub fn person_may_change_limits(&mut self) {
        let is_due = self.scenario.limit_changes_left > 0
            && !self.journal.begun.is_empty()
            && self.random.one_in(self.scenario.limit_one_in);
        if !is_due {
            return;
        }
        self.scenario.limit_changes_left -= 1;
        let change = self.new_limits();
        if change.records().is_empty() {
            return;
        }
        let id = LimitRequestId::new(self.now);
        self.note(|| format!("!! the person wants {change:?}"));
        self.limit_requests.insert(id.clone(), (change, self.now));
        self.deliver(200, ControlEvent::LimitsRequested(id, change));
    }

    fn new_limits(&mut self) -> LimitChange {
        let mut change = LimitChange::default();
        let has_rounds = !matches!(self.scenario.spec.mode, Mode::CodeReview | Mode::Pipeline);
        if has_rounds && self.random.one_in(2) {
            let most = 1 + self.random.below(9) as u64;
            change.max_iterations = Some(most);
            let is_lower = self.max_iterations().is_some_and(|old| most < old);
            let name = if is_lower { "limit lowered" } else { "limit raised" };
            self.seen.insert(name.to_owned());
            return change;
        }
        let old = self.budget();
        let most = self.random.below(60_000) as u64;
        let (field, old) = match self.random.below(3) {
            0 => (&mut change.budget.tokens, old.tokens),
            1 => (&mut change.budget.micro_usd, old.micro_usd),
            _ => (&mut change.budget.seconds, old.seconds),
        };
        *field = Some(most);
        let is_lower = old.is_none_or(|old| most < old);
        let name = if is_lower { "budget lowered" } else { "budget raised" };
        self.seen.insert(name.to_owned());
        change
    }

    /// A request goes away only when the journal has what it asks for.
    pub fn check_limits_recorded(&self, change: LimitChange) {
        let limits = self.journal.limits;
        let is_recorded =
            |wanted: Option<u64>, have: Option<u64>| wanted.is_none_or(|it| have == Some(it));
        let (budget, have) = (change.budget, self.budget());
        let are_recorded = is_recorded(change.max_iterations, self.max_iterations())
            && is_recorded(budget.tokens, have.tokens)
            && is_recorded(budget.micro_usd, have.micro_usd)
            && is_recorded(budget.seconds, have.seconds);
        if !are_recorded {
            self.fail("limits are recorded before their request goes", format!("{limits:?}"));
        }
    }

    /// What holds about limits whenever the loop has nothing to do.
    pub fn limits_are_in_force(&self) {
        let rules = &self.rules;
        let overdue = |at: &Timestamp| self.now.millis_since(*at) > LIMIT_MS;
        if let Some((_, (change, _))) = self.limit_requests.iter().find(|(_, (_, at))| overdue(at))
            && !rules.has_journal_failed
        {
            self.fail("a new limit takes effect at once", format!("{change:?}"));
        }
        if self.is_over_budget() {
            let works = self.agents.iter().find(|agent| agent.is_alive && !agent.is_ending);
            if let Some(agent) = works {
                self.fail("no agent works beyond the budget", &agent.step);
            }
        }
        let mode = self.scenario.spec.mode;
        if let (Some((_, most)), Some(wanted)) =
            (self.documents.iteration(mode), self.max_iterations())
            && rules.has_begun_document
            && !rules.is_write_pending
            && self.goes_on()
            && most < wanted
        {
            self.fail("a document has the limit in force", format!("{most}, not {wanted}"));
        }
    }

    /// No more rounds are begun than the run may have.
    pub fn is_within_limit(&self) {
        let mode = self.scenario.spec.mode;
        let Some(most) = self.max_iterations() else { return };
        let begins = |step: &&str| match mode {
            Mode::Autopilot => step.ends_with(".plan.draft"),
            Mode::Ralph => step.starts_with("verifier"),
            Mode::Ralplan => step.starts_with("critic"),
            Mode::Ultraqa => step.starts_with("check"),
            _ => false,
        };
        let rounds: Vec<&str> =
            self.rules.begun.iter().map(|step| step.as_str()).filter(begins).collect();
        if rounds.len() as u64 > most {
            self.fail("a limit is a limit", format!("{most}, and begun were {rounds:?}"));
        }
    }
}

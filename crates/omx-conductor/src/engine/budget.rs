//! Enforces the budget of a run: tokens, money, time. Once it is used up, nothing
//! starts, in this process or in a later one.

use omx_kernel::Timestamp;

use super::{Engine, RunEffect, RunOutcome};

impl Engine {
    /// Names the exhausted budget, for people.
    fn exhausted_budget(&self, now: Timestamp) -> Option<String> {
        let budget = self.spec.budget;
        let is_spent = |most: Option<u64>, used: u64| most.filter(|most| used >= *most);
        if let Some(most) = is_spent(budget.tokens, self.usage.tokens()) {
            return Some(format!("the budget of {most} tokens is used up"));
        }
        if is_spent(budget.micro_usd, self.usage.micro_usd.unwrap_or_default()).is_some() {
            return Some("the money budget is used up".to_owned());
        }
        let worked = self.worked_before.saturating_add(self.worked(now));
        let most = budget.seconds.map(|seconds| seconds.saturating_mul(1000));
        is_spent(most, worked).map(|_| "the time budget is used up".to_owned())
    }

    /// Stops the run if a budget is exhausted.
    pub(super) fn enforce_budget(&mut self, out: &mut Vec<RunEffect>, now: Timestamp) {
        if self.stopping.is_none()
            && let Some(words) = self.exhausted_budget(now)
        {
            self.stop(RunOutcome::Budget(words), out, now);
        }
    }

    /// When the time budget runs out.
    pub(super) fn budget_ends_at(&self) -> Option<Timestamp> {
        let seconds = self.spec.budget.seconds.filter(|_| self.stopping.is_none())?;
        let left = seconds.saturating_mul(1000).saturating_sub(self.worked_before);
        Some(self.opened_at.plus_millis(left))
    }

    /// Milliseconds since this process opened the run.
    pub(super) fn worked(&self, now: Timestamp) -> u64 {
        u64::try_from(now.millis_since(self.opened_at)).unwrap_or_default()
    }
}

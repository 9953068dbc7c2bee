//! What a run may spend, and that it ends when that is spent: tokens, money,
//! time. Nothing begins after that, in this process or in a later one.

use omx_kernel::Timestamp;

use super::{Effect, Engine, Outcome, later};

impl Engine {
    /// Which budget is used up, in words.
    pub(super) fn used_up(&self, now: Timestamp) -> Option<String> {
        let budget = self.asked.budget;
        let is_spent = |most: Option<u64>, spent: u64| most.filter(|most| spent >= *most);
        if let Some(most) = is_spent(budget.tokens, self.spent.tokens()) {
            return Some(format!("the budget of {most} tokens is used up"));
        }
        if is_spent(budget.micro_usd, self.spent.micro_usd.unwrap_or_default()).is_some() {
            return Some("the budget of money is used up".to_owned());
        }
        let worked = self.worked_before.saturating_add(self.worked(now));
        let most = budget.seconds.map(|seconds| seconds.saturating_mul(1000));
        is_spent(most, worked).map(|_| "the budget of time is used up".to_owned())
    }

    /// Stops the run if a budget is used up.
    pub(super) fn mind_the_budget(&mut self, out: &mut Vec<Effect>, now: Timestamp) {
        if self.stopping.is_none()
            && let Some(words) = self.used_up(now)
        {
            self.stop(Outcome::Budget(words), out, now);
        }
    }

    /// When the time is used up.
    pub(super) fn time_is_up(&self) -> Option<Timestamp> {
        let seconds = self.asked.budget.seconds.filter(|_| self.stopping.is_none())?;
        let left = seconds.saturating_mul(1000).saturating_sub(self.worked_before);
        Some(later(self.taken_up, left))
    }

    /// Milliseconds since this process took the run up.
    pub(super) fn worked(&self, now: Timestamp) -> u64 {
        u64::try_from(now.millis_since(self.taken_up)).unwrap_or_default()
    }
}

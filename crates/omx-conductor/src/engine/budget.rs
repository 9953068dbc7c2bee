//! Enforces the budget of a run: tokens, money, time. Once it is used up, nothing
//! starts, in this process or in a later one.

use omx_kernel::Timestamp;
use omx_runs::{Record, StepKey, Usage};

use super::state::ActiveStep;
use super::{Engine, RunEffect, RunOutcome};

impl Engine {
    /// Names the exhausted budget, for people.
    pub(super) fn exhausted_budget(&self, now: Timestamp) -> Option<String> {
        let budget = self.spec.budget;
        let is_spent = |most: Option<u64>, used: u64| most.filter(|most| used >= *most);
        if let Some(most) = is_spent(budget.tokens, self.usage.tokens()) {
            return Some(format!("the budget of {most} tokens is used up"));
        }
        if is_spent(budget.micro_usd, self.money_used()).is_some() {
            return Some("the money budget is used up".to_owned());
        }
        let worked = self.worked_before.saturating_add(self.worked(now));
        let most = budget.seconds.map(|seconds| seconds.saturating_mul(1000));
        is_spent(most, worked).map(|_| "the time budget is used up".to_owned())
    }

    /// Adds the price to usage that an agent reported without its cost. An agent that
    /// reports costs does so at the end of a turn; until then the price is an estimate.
    pub(super) fn priced(&mut self, key: &StepKey, mut usage: Usage) -> Usage {
        let Some(active) = self.active.get_mut(key) else { return usage };
        if usage.micro_usd.is_some() {
            active.estimate = 0;
            return usage;
        }
        let model = active.model.as_deref().unwrap_or_default();
        let Some(price) = self.spec.prices.get(model) else { return usage };
        let cost = price.cost(usage.input, usage.output);
        if active.step.seat.agent.reports_cost() {
            active.estimate = active.estimate.saturating_add(cost);
        } else {
            usage.micro_usd = Some(cost);
        }
        usage
    }

    /// Stops a run with a money budget whose agent works with a model of unknown price.
    pub(super) fn require_price(
        &mut self,
        key: &StepKey,
        usage: Usage,
        out: &mut Vec<RunEffect>,
        now: Timestamp,
    ) {
        let Some(active) = self.active.get(key) else { return };
        let agent = active.step.seat.agent;
        if self.spec.budget.micro_usd.is_none() || usage.micro_usd.is_some() || agent.reports_cost()
        {
            return;
        }
        let model = active.model.as_deref().unwrap_or("unknown");
        let words = format!(
            "the money budget cannot be kept: {agent} works with the model {model}, whose price \
             is not configured; set prices.{model}.input and prices.{model}.output"
        );
        self.stop(RunOutcome::Blocked(words), out, now);
    }

    /// Money used so far, with estimates for turns in progress.
    fn money_used(&self) -> u64 {
        let estimates = self.active.values().map(|active| active.estimate);
        let known = self.usage.micro_usd.unwrap_or_default();
        estimates.fold(known, u64::saturating_add)
    }

    /// What is left of the money budget.
    pub(super) fn money_left(&self) -> Option<u64> {
        let most = self.spec.budget.micro_usd?;
        Some(most.saturating_sub(self.money_used()))
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

/// Counts the estimate of a turn whose real cost was never reported.
pub(super) fn settle_estimate(
    key: &StepKey,
    active: &mut ActiveStep,
    used: &mut Usage,
    out: &mut Vec<RunEffect>,
) {
    let cost = std::mem::take(&mut active.estimate);
    if cost > 0 {
        let usage = Usage { micro_usd: Some(cost), ..Usage::default() };
        used.add(usage);
        out.push(RunEffect::Record(Record::Usage { step: key.clone(), usage }));
    }
}

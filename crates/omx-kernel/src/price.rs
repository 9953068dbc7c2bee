//! Money: what tokens cost, and whether a money budget can be kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent_kind::AgentKind;
use crate::dialect::Dialect;
use crate::refusal::Refusal;

/// What a model costs, in millionths of a US dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPrice {
    /// For a million input tokens.
    pub input: u64,
    /// For a million output tokens.
    pub output: u64,
}

impl ModelPrice {
    /// What these tokens cost, in millionths of a US dollar.
    pub fn cost(self, input_tokens: u64, output_tokens: u64) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let sum = part(input_tokens, self.input) + part(output_tokens, self.output);
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Prices by model.
pub type ModelPrices = BTreeMap<String, ModelPrice>;

/// Refuses a money budget that could not be kept: the agent reports no cost, and one of
/// its models has no price. `None` stands for a model that is the agent's own default.
pub fn check_money_budget(
    agent: AgentKind,
    models: &[Option<&str>],
    prices: &ModelPrices,
    dialect: Dialect,
) -> Result<(), Refusal> {
    if agent.reports_cost() {
        return Ok(());
    }
    let unpriced =
        models.iter().find(|model| model.is_none_or(|model| !prices.contains_key(model)));
    let Some(model) = unpriced else { return Ok(()) };
    let (what, example) = match model {
        Some(model) => (format!("the price of {model} is not configured"), *model),
        None => ("which model it will use is not known; name it with --model".to_owned(), "MODEL"),
    };
    let program = dialect.name;
    Err(Refusal::invalid_input(format!(
        "a money budget needs prices: {agent} reports no cost, and {what}. Set them in dollars \
         for a million tokens: {program} config set prices.{example}.input 1.25, \
         {program} config set prices.{example}.output 10"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conductor_5_2_tokens_are_priced_and_rounded_up() {
        let price = ModelPrice { input: 1_250_000, output: 10_000_000 };
        assert_eq!(price.cost(1_000_000, 100_000), 2_250_000);
        assert_eq!(price.cost(1, 0), 2);
        assert_eq!(price.cost(u64::MAX, u64::MAX), u64::MAX);
    }

    #[test]
    fn conductor_5_2_a_budget_of_money_needs_prices() {
        let prices = ModelPrices::from([("small".to_owned(), ModelPrice::default())]);
        let check = |agent, models: &[Option<&str>]| {
            check_money_budget(agent, models, &prices, Dialect::OMC)
        };
        assert_eq!(check(AgentKind::Claude, &[None]), Ok(()));
        assert_eq!(check(AgentKind::Codex, &[Some("small")]), Ok(()));
        let refused = check(AgentKind::Codex, &[Some("small"), Some("large")]).unwrap_err();
        let set = "omc config set prices.large.input";
        assert!(refused.message.contains(set), "{}", refused.message);
        let refused = check(AgentKind::Gemini, &[None]).unwrap_err();
        assert!(refused.message.contains("--model"), "{}", refused.message);
    }
}

//! Token usage. Claude reports exact totals per process, but only at the end of
//! a turn; within a turn, usage is reported step by step.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::event::UsageDelta;

#[derive(Debug, Default)]
pub(super) struct UsageCounter {
    /// Reported so far for this process.
    reported: UsageDelta,
    /// Model responses of this turn that were reported.
    steps: BTreeSet<String>,
}

impl UsageCounter {
    /// Starts over: a new process counts from zero.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    /// Adds one model response. Its input is exact; its output and cost are known
    /// only at the end of the turn.
    pub(super) fn add_step(&mut self, message: &Value) -> Option<UsageDelta> {
        let id = message["id"].as_str()?;
        if !self.steps.insert(id.to_owned()) {
            return None;
        }
        let usage = &message["usage"];
        let cached = number(&usage["cache_read_input_tokens"]);
        let step = UsageDelta {
            input_tokens: number(&usage["input_tokens"])
                .saturating_add(number(&usage["cache_creation_input_tokens"]))
                .saturating_add(cached),
            cached_tokens: cached,
            output_tokens: number(&usage["output_tokens"]),
            micro_usd: None,
        };
        self.reported.input_tokens = self.reported.input_tokens.saturating_add(step.input_tokens);
        self.reported.cached_tokens =
            self.reported.cached_tokens.saturating_add(step.cached_tokens);
        self.reported.output_tokens =
            self.reported.output_tokens.saturating_add(step.output_tokens);
        (step != UsageDelta::default()).then_some(step)
    }

    /// Reports the rest at the end of a turn, from the process's totals over all
    /// models and subagents.
    pub(super) fn finish_turn(&mut self, result: &Value) -> Option<UsageDelta> {
        self.steps.clear();
        let mut whole = UsageDelta { micro_usd: micro_usd(result), ..UsageDelta::default() };
        for model in result["modelUsage"].as_object()?.values() {
            let cached = number(&model["cacheReadInputTokens"]);
            whole.input_tokens = whole
                .input_tokens
                .saturating_add(number(&model["inputTokens"]))
                .saturating_add(number(&model["cacheCreationInputTokens"]))
                .saturating_add(cached);
            whole.cached_tokens = whole.cached_tokens.saturating_add(cached);
            whole.output_tokens =
                whole.output_tokens.saturating_add(number(&model["outputTokens"]));
        }
        let before = std::mem::replace(&mut self.reported, whole);
        let cost = whole.micro_usd.map(|all| all.saturating_sub(before.micro_usd.unwrap_or(0)));
        let rest = UsageDelta {
            input_tokens: whole.input_tokens.saturating_sub(before.input_tokens),
            cached_tokens: whole.cached_tokens.saturating_sub(before.cached_tokens),
            output_tokens: whole.output_tokens.saturating_sub(before.output_tokens),
            micro_usd: cost,
        };
        let nothing = UsageDelta { micro_usd: cost.map(|_| 0), ..UsageDelta::default() };
        (rest != nothing).then_some(rest)
    }
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn micro_usd(result: &Value) -> Option<u64> {
    let dollars = result["total_cost_usd"].as_f64()?;
    // The cast turns negative numbers and NaN into zero.
    Some((dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(input: u64, output: u64, dollars: f64) -> Value {
        let model = json!({"inputTokens": input, "outputTokens": output,
            "cacheReadInputTokens": 100, "cacheCreationInputTokens": 10});
        json!({"modelUsage": {"m": model}, "total_cost_usd": dollars})
    }

    #[test]
    fn reported_usage_adds_up_to_claudes_totals() {
        let mut counter = UsageCounter::default();
        let usage = json!({"input_tokens": 1000, "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 10, "output_tokens": 1});
        let message = json!({"id": "a", "usage": usage});
        let step = counter.add_step(&message).unwrap();
        assert_eq!((step.input_tokens, step.cached_tokens, step.output_tokens), (1110, 100, 1));
        // The same response in a second line: first its text, then its tools.
        assert_eq!(counter.add_step(&message), None);
        let rest = counter.finish_turn(&result(1000, 20, 0.0055)).unwrap();
        let expected =
            UsageDelta { output_tokens: 19, micro_usd: Some(5500), ..UsageDelta::default() };
        assert_eq!(rest, expected);
        let more = counter.finish_turn(&result(3000, 60, 0.0165)).unwrap();
        assert_eq!((more.input_tokens, more.output_tokens), (2000, 40));
        assert_eq!(more.micro_usd, Some(11_000));
        assert_eq!(counter.finish_turn(&result(3000, 60, 0.0165)), None);
        counter.restart();
        assert_eq!(counter.finish_turn(&result(1, 1, 0.1)).unwrap().micro_usd, Some(100_000));
    }
}

//! Token usage. Codex reports totals per thread; omx reports differences.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::event::UsageDelta;

/// The last total of each thread. Subagents that codex starts have threads of
/// their own.
#[derive(Debug, Default)]
pub(super) struct UsageTotals(BTreeMap<String, UsageDelta>);

impl UsageTotals {
    /// Records a total without reporting it.
    pub(super) fn set_baseline(&mut self, thread: &str, sum: UsageDelta) {
        self.0.insert(thread.to_owned(), sum);
    }

    /// Records a total and returns the difference to the previous one, unless it
    /// is zero.
    pub(super) fn add_total(&mut self, thread: &str, sum: UsageDelta) -> Option<UsageDelta> {
        let before = self.0.insert(thread.to_owned(), sum).unwrap_or_default();
        let usage = UsageDelta {
            input_tokens: sum.input_tokens.saturating_sub(before.input_tokens),
            cached_tokens: sum.cached_tokens.saturating_sub(before.cached_tokens),
            output_tokens: sum.output_tokens.saturating_sub(before.output_tokens),
            micro_usd: None,
        };
        (usage != UsageDelta::default()).then_some(usage)
    }
}

/// Parses a total of the app-server.
pub(super) fn parse_app_server_usage(total: &Value) -> UsageDelta {
    UsageDelta {
        input_tokens: count(&total["inputTokens"]),
        cached_tokens: count(&total["cachedInputTokens"]),
        output_tokens: count(&total["outputTokens"]),
        micro_usd: None,
    }
}

/// Parses a total of `codex exec`.
pub(super) fn parse_exec_usage(usage: &Value) -> UsageDelta {
    UsageDelta {
        input_tokens: count(&usage["input_tokens"]),
        cached_tokens: count(&usage["cached_input_tokens"]),
        output_tokens: count(&usage["output_tokens"]),
        micro_usd: None,
    }
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> UsageDelta {
        UsageDelta { input_tokens: input, output_tokens: output, ..UsageDelta::default() }
    }

    #[test]
    fn only_the_difference_is_reported() {
        let mut totals = UsageTotals::default();
        totals.set_baseline("a", usage(1000, 100));
        assert_eq!(totals.add_total("a", usage(1500, 110)), Some(usage(500, 10)));
        assert_eq!(totals.add_total("a", usage(1500, 110)), None);
        assert_eq!(totals.add_total("b", usage(7, 1)), Some(usage(7, 1)));
        // A total that shrinks was reset.
        assert_eq!(totals.add_total("a", usage(10, 1)), None);
        assert_eq!(totals.add_total("a", usage(30, 2)), Some(usage(20, 1)));
    }
}

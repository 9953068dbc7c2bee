//! Parses budgets as people write them.

use omx_kernel::Refusal;
use omx_runs::{Budget, RunLimits};

use crate::config::{Config, span_seconds};

/// Parses an amount of dollars into millionths of a dollar.
pub fn parse_usd(amount: &str) -> Result<u64, Refusal> {
    let wrong = || {
        Refusal::invalid_input(format!(
            "{amount:?} is not an amount of US dollars; expected one such as 2.50"
        ))
    };
    let dollars: f64 = amount.trim_start_matches('$').parse().map_err(|_| wrong())?;
    if !dollars.is_finite() || dollars <= 0.0 || dollars > 1e9 {
        return Err(wrong());
    }
    // The value is in range, so rounding loses only fractions of a millionth.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok((dollars * 1e6).round() as u64)
}

/// Parses a duration into seconds.
pub fn parse_span(span: &str) -> Result<u64, Refusal> {
    span_seconds(span).ok_or_else(|| {
        Refusal::invalid_input(format!(
            "{span:?} is not a span of time; expected one such as 90m or 2h"
        ))
    })
}

/// How long a run waits, according to the configuration.
pub(super) fn configured_limits(config: &Config) -> RunLimits {
    let seconds =
        |key: &str| span_seconds(config.get(key).and_then(|setting| setting.value.as_str())?);
    let usual = RunLimits::default();
    RunLimits {
        patience_s: seconds("limits.patience").unwrap_or(usual.patience_s),
        check_time_s: seconds("limits.check_time").unwrap_or(usual.check_time_s),
    }
}

/// Completes a requested budget from the configuration.
pub(super) fn with_configured(budget: Budget, config: &Config) -> Result<Budget, Refusal> {
    let json = |key: &str| config.get(key).map(|setting| setting.value.as_json().to_owned());
    let text =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let configured = Budget {
        tokens: json("budget.tokens").and_then(|tokens| tokens.parse().ok()),
        micro_usd: match budget.micro_usd {
            Some(_) => None,
            None => json("budget.usd").as_deref().map(parse_usd).transpose()?,
        },
        seconds: match budget.seconds {
            Some(_) => None,
            None => text("budget.time").as_deref().map(parse_span).transpose()?,
        },
    };
    Ok(configured.changed_by(budget))
}

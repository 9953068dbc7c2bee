//! Parses budgets as people write them.

use omx_kernel::Refusal;
use omx_kernel::price::ModelPrices;
use omx_runs::{Budget, RunLimits};

use crate::config::{Config, span_seconds};

/// Parses an amount of dollars into millionths of a dollar.
pub fn parse_usd(amount: &str) -> Result<u64, Refusal> {
    let wrong = || {
        Refusal::invalid_input(format!(
            "{amount:?} is not an amount of US dollars; expected one such as 2.50"
        ))
    };
    parse_dollars(amount.trim_start_matches('$')).filter(|most| *most > 0).ok_or_else(wrong)
}

/// Parses dollars into millionths of a dollar.
fn parse_dollars(amount: &str) -> Option<u64> {
    let dollars: f64 = amount.parse().ok()?;
    if !dollars.is_finite() || !(0.0..=1e9).contains(&dollars) {
        return None;
    }
    // The value is in range, so rounding loses only fractions of a millionth.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Some((dollars * 1e6).round() as u64)
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

/// The prices of models, according to the configuration.
pub(super) fn configured_prices(config: &Config) -> Result<ModelPrices, Refusal> {
    let mut prices = ModelPrices::new();
    for (key, setting) in &config.settings {
        let Some(name) = key.strip_prefix("prices.") else { continue };
        let Some((model, column)) = name.rsplit_once('.') else { continue };
        let price = parse_dollars(setting.value.as_json()).ok_or_else(|| {
            Refusal::invalid_input(format!("{key}: expected dollars for a million tokens"))
        })?;
        let row = prices.entry(model.to_owned()).or_default();
        match column {
            "input" => row.input = price,
            _ => row.output = price,
        }
    }
    Ok(prices)
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

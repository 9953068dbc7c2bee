//! What a project's configuration may set. A project is somebody else's text until the
//! person has trusted its file, so until then it may only tighten what the person set.

use crate::config_keys::{KeyRow, Kind, span_seconds};
use crate::mode::Mode;
use crate::value::Value;

/// What a project's configuration may do with a key before the person trusts its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectRule {
    /// Set it: the key executes, loosens and redirects nothing.
    Any,
    /// Lower it: a smaller number or a shorter time is stricter, and unset is unlimited.
    Smaller,
    /// Move it toward the start of this list of all its values.
    Stricter(&'static [&'static str]),
    /// Nothing: every value executes, loosens or redirects something.
    Consent,
    /// Nothing, and trust does not change that: only the person's own configuration counts.
    PersonOnly,
}

/// Whether a value of a project's configuration counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectValue {
    /// It counts.
    Counts,
    /// It counts once the person has trusted its file.
    WaitsForTrust,
    /// It never counts in a project's configuration.
    PersonOnly,
}

/// Decides whether a value that a project sets for the key `name` counts before the
/// person trusts its file. `own` is the person's value, or else the default.
pub fn judge_project_value(
    row: &KeyRow,
    name: &str,
    value: &Value,
    own: Option<&Value>,
) -> ProjectValue {
    let is_tighter = match row.project {
        ProjectRule::PersonOnly => return ProjectValue::PersonOnly,
        ProjectRule::Any => true,
        ProjectRule::Consent => own.is_some_and(|own| own.as_json() == value.as_json()),
        ProjectRule::Smaller => {
            let own = own.and_then(|own| size(row.kind, own)).or_else(|| built_in_limit(name));
            let new = size(row.kind, value);
            own.is_none_or(|own| new.is_some_and(|new| new <= own))
        }
        ProjectRule::Stricter(words) => {
            let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
            let own = own.and_then(rank).unwrap_or_default();
            rank(value).is_some_and(|new| new <= own)
        }
    };
    if is_tighter { ProjectValue::Counts } else { ProjectValue::WaitsForTrust }
}

/// The size of a value, to compare it with another one of the same kind.
fn size(kind: Kind, value: &Value) -> Option<f64> {
    match kind {
        // Spans have at most 32 bits of days, so no size loses precision.
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        Kind::Span => value.as_str().and_then(span_seconds).map(|seconds| seconds as f64),
        _ => value.as_json().parse().ok(),
    }
}

/// The limit that applies to an unset key, where the table of keys has no default.
fn built_in_limit(name: &str) -> Option<f64> {
    let mode = Mode::parse(name.strip_prefix("limits.max_iterations.")?).ok()?;
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    mode.spec().max_iterations.map(|limit| limit as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config_keys::{KEYS, row_of};

    fn judge(name: &str, value: &str, own: Option<&str>) -> ProjectValue {
        let row = row_of(name).unwrap();
        let typed = |text: &str| match row.kind {
            Kind::Count => Value::integer(text.parse().unwrap()),
            Kind::Amount => Value::integer(text.parse().unwrap()),
            _ => Value::string(text),
        };
        let own = own.or(row.default).map(typed);
        judge_project_value(row, name, &typed(value), own.as_ref())
    }

    #[test]
    fn trust_2_1_a_project_only_tightens() {
        use ProjectValue::{Counts, WaitsForTrust};
        for (name, value, own, expected) in [
            ("allow", "edits", None, Counts),
            ("allow", "commands", None, Counts),
            ("allow", "all", None, WaitsForTrust),
            ("allow", "commands", Some("edits"), WaitsForTrust),
            ("allow", "edits", Some("all"), Counts),
            ("keywords", "off", None, Counts),
            ("keywords", "phrases", None, WaitsForTrust),
            ("budget.tokens", "100", None, Counts),
            ("budget.tokens", "100", Some("99"), WaitsForTrust),
            ("budget.tokens", "99", Some("100"), Counts),
            ("budget.usd", "5", Some("4"), WaitsForTrust),
            ("budget.time", "2h", Some("90m"), WaitsForTrust),
            ("budget.time", "90m", Some("2h"), Counts),
            ("limits.max_iterations.ralph", "50", None, Counts),
            ("limits.max_iterations.ralph", "51", None, WaitsForTrust),
            ("limits.max_iterations.ralph", "51", Some("60"), Counts),
            ("team.maxAgents", "21", None, WaitsForTrust),
            ("check", "true", None, WaitsForTrust),
            ("check", "make test", Some("make test"), Counts),
            ("agent", "claude", Some("codex"), WaitsForTrust),
            ("tiers.codex.low", "m", None, WaitsForTrust),
            ("team.store", "postgres://h/d", None, WaitsForTrust),
            ("notify.slack", "u", None, WaitsForTrust),
            ("retention", "1s", None, WaitsForTrust),
            ("hud.preset", "full", None, Counts),
        ] {
            assert_eq!(judge(name, value, own), expected, "{name} = {value}, own: {own:?}");
        }
    }

    #[test]
    fn trust_2_1_an_order_of_words_has_every_word_of_its_key() {
        for row in KEYS {
            let ProjectRule::Stricter(order) = row.project else { continue };
            let Kind::Choice(words) = row.kind else { panic!("{} has no words", row.name) };
            let mut order = order.to_vec();
            let mut words = words.to_vec();
            order.sort_unstable();
            words.sort_unstable();
            assert_eq!(order, words, "{}", row.name);
        }
    }
}

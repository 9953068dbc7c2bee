//! Every configuration key as one row. Documentation, schema, checks, `config list` and
//! the rule about a project's configuration read this table.

use crate::agent_kind::AgentKind;
use crate::mode::Mode;
use crate::nearest::nearest;
use crate::project_config::ProjectRule;
use crate::value::Value;

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Any text that is not empty.
    Text,
    /// An integer, at least 1.
    Count,
    /// A number, at least 0.
    Amount,
    /// A duration such as `2h` or `30 days`.
    Span,
    /// A database URL without a password.
    Store,
    /// A list of paths; `~` stands for the home directory.
    Paths,
    /// Anything; the notifier validates it.
    Any,
}

/// One key. A `*` in its name stands for an agent, a mode or a model.
#[derive(Debug)]
pub struct KeyRow {
    /// The dotted name.
    pub name: &'static str,
    /// The type of its value.
    pub kind: Kind,
    /// The default value.
    pub default: Option<&'static str>,
    /// What the key does.
    pub meaning: &'static str,
    /// What a project's configuration may do with it.
    pub project: ProjectRule,
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    meaning: &'static str,
    project: ProjectRule,
) -> KeyRow {
    KeyRow { name, kind, default, meaning, project }
}

const CONSENT: ProjectRule = ProjectRule::Consent;
const SMALLER: ProjectRule = ProjectRule::Smaller;

/// All keys. The last column decides what a cloned repository can do with a key, so a
/// new key chooses it with care: when in doubt, `CONSENT`.
pub const KEYS: &[KeyRow] = &[
    key(
        "agent",
        Kind::Choice(&AgentKind::NAMES),
        None,
        "agent to drive; unset: the first that is installed and logged in",
        CONSENT,
    ),
    key(
        "tiers.*.low",
        Kind::Text,
        None,
        "model of the low tier for that agent; unset: the agent's own default",
        CONSENT,
    ),
    key("tiers.*.medium", Kind::Text, None, "model of the medium tier", CONSENT),
    key("tiers.*.high", Kind::Text, None, "model of the high tier", CONSENT),
    key(
        "check",
        Kind::Text,
        None,
        "command line that verifies the project, run by a shell; unset: detected from the project",
        CONSENT,
    ),
    key(
        "allow",
        Kind::Choice(&["edits", "commands", "all"]),
        Some("commands"),
        "what agents may do without approval",
        ProjectRule::Stricter(&["edits", "commands", "all"]),
    ),
    key(
        "keywords",
        Kind::Choice(&["explicit", "phrases", "off"]),
        Some("explicit"),
        "which prompts start a mode",
        ProjectRule::Stricter(&["off", "explicit", "phrases"]),
    ),
    key("budget.tokens", Kind::Count, None, "stop a run after this many tokens", SMALLER),
    key("budget.usd", Kind::Amount, None, "stop a run after this much money", SMALLER),
    key("budget.time", Kind::Span, None, "stop a run after this long", SMALLER),
    key(
        "limits.max_iterations.*",
        Kind::Count,
        None,
        "initial max_iterations of that mode",
        SMALLER,
    ),
    key(
        "limits.max_holds",
        Kind::Count,
        Some("200"),
        "how often a run inside a conversation may be held before it waits for you",
        SMALLER,
    ),
    key(
        "limits.patience",
        Kind::Span,
        Some("2h"),
        "how long a failing service or an unexplained rate limit is retried",
        SMALLER,
    ),
    key(
        "limits.check_time",
        Kind::Span,
        Some("30m"),
        "how long one run of the check may take",
        SMALLER,
    ),
    key(
        "prices.*.input",
        Kind::Amount,
        None,
        "dollars for a million input tokens of that model",
        CONSENT,
    ),
    key(
        "prices.*.output",
        Kind::Amount,
        None,
        "dollars for a million output tokens of that model",
        CONSENT,
    ),
    key(
        "sandbox.mode",
        Kind::Choice(&["required", "auto", "off"]),
        Some("auto"),
        "whether agents must be confined; auto: ask where the system cannot",
        ProjectRule::Stricter(&["required", "auto", "off"]),
    ),
    key(
        "sandbox.hide",
        Kind::Paths,
        None,
        "files and folders that agents cannot read; unset: keys and credentials in the home directory",
        ProjectRule::PersonOnly,
    ),
    key(
        "sandbox.write",
        Kind::Paths,
        None,
        "folders that agents may change besides their own",
        ProjectRule::PersonOnly,
    ),
    // Shorter removes the person's records earlier, longer fills their disk.
    key("retention", Kind::Span, Some("30 days"), "how long ended runs are kept", CONSENT),
    key("team.maxAgents", Kind::Count, Some("20"), "maximum number of workers in a team", SMALLER),
    key(
        "team.defaultAgentType",
        Kind::Text,
        Some("executor"),
        "role of workers in team-exec",
        CONSENT,
    ),
    key(
        "team.monitorIntervalMs",
        Kind::Count,
        Some("30000"),
        "fallback poll interval of the lead, in ms",
        CONSENT,
    ),
    key(
        "team.shutdownTimeoutMs",
        Kind::Count,
        Some("15000"),
        "time for a graceful shutdown on cancel, in ms",
        SMALLER,
    ),
    key(
        "team.store",
        Kind::Store,
        None,
        "postgres:// address without a password; unset: SQLite in the project",
        CONSENT,
    ),
    key(
        "environment.pass",
        Kind::Text,
        None,
        "variables of yours that git, checks, hooks and agents get besides the common ones",
        CONSENT,
    ),
    key("notify.*", Kind::Any, None, "notification targets", CONSENT),
    key(
        "hud.preset",
        Kind::Choice(&["minimal", "focused", "full"]),
        Some("focused"),
        "what the status line shows",
        ProjectRule::Any,
    ),
];

/// What is wrong with a key or its value, for people.
pub type KeyProblem = String;

/// The full name of a key that has a short one.
pub fn full_name(name: &str) -> &str {
    if name == "sandbox" { "sandbox.mode" } else { name }
}

/// Looks up the row of a key. The error suggests the nearest key.
pub fn row_of(name: &str) -> Result<&'static KeyRow, KeyProblem> {
    let name = full_name(name);
    if let Some(row) = KEYS.iter().find(|row| fits(row.name, name)) {
        return Ok(row);
    }
    let mut known = KEYS.iter().flat_map(|row| spelled_out(row.name));
    if is_section(name) {
        let inside = format!("{name}.");
        let one = known.find(|key| key.starts_with(&inside)).unwrap_or_else(|| inside + "…");
        return Err(format!("{name:?} is a section, not a key; a key in it is {one:?}"));
    }
    Err(match nearest(name, known) {
        Some(near) => format!("unknown key {name:?}; the nearest known key is {near:?}"),
        None => format!("unknown key {name:?}"),
    })
}

/// Checks that a key exists. The error suggests the nearest key.
pub fn known(name: &str) -> Result<(), KeyProblem> {
    row_of(name).map(|_| ())
}

/// Whether a table of this name can contain keys.
pub fn is_section(name: &str) -> bool {
    let parts = name.split('.').count();
    KEYS.iter().any(|row| {
        let wanted: Vec<&str> = row.name.split('.').collect();
        wanted.len() > parts && fits(&wanted[..parts].join("."), name)
    }) || name.starts_with("notify.")
        || name.starts_with("prices.")
}

fn fits(pattern: &str, name: &str) -> bool {
    if pattern == "notify.*" {
        return name.strip_prefix("notify.").is_some_and(|rest| !rest.is_empty());
    }
    if let Some(("prices.", column)) = pattern.split_once('*') {
        // The names of models contain dots.
        let rest = name.strip_prefix("prices.").and_then(|rest| rest.strip_suffix(column));
        return rest.is_some_and(|model| !model.is_empty());
    }
    let (pattern_parts, parts) = (pattern.split('.'), name.split('.'));
    pattern_parts.clone().count() == parts.clone().count()
        && pattern_parts.zip(parts).all(|(wanted, part)| match wanted {
            "*" if pattern.starts_with("tiers") => AgentKind::parse(part).is_some(),
            "*" => Mode::parse(part).is_ok(),
            _ => wanted == part,
        })
}

fn spelled_out(pattern: &'static str) -> Vec<String> {
    let words: Vec<&str> = match pattern {
        _ if !pattern.contains('*') => return vec![pattern.to_owned()],
        "notify.*" => return Vec::new(),
        _ if pattern.starts_with("prices") => return vec![pattern.replace('*', "MODEL")],
        _ if pattern.starts_with("tiers") => AgentKind::NAMES.to_vec(),
        _ => Mode::ALL.iter().map(|mode| mode.name()).collect(),
    };
    words.into_iter().map(|word| pattern.replace('*', word)).collect()
}

/// Checks a value against its key's type.
pub fn check(name: &str, kind: Kind, value: &Value) -> Result<(), KeyProblem> {
    let wanted = match kind {
        Kind::Any => return Ok(()),
        Kind::Choice(words) => {
            if value.as_str().is_some_and(|text| words.contains(&text)) {
                return Ok(());
            }
            let near = value
                .as_str()
                .and_then(|text| nearest(text, words.iter().map(|word| (*word).to_owned())));
            let hint = near.map(|near| format!("; the nearest is {near:?}")).unwrap_or_default();
            format!("one of {}{hint}", words.join(", "))
        }
        Kind::Text if value.as_str().is_some_and(|text| !text.is_empty()) => return Ok(()),
        Kind::Text => "a text".to_owned(),
        Kind::Count if value.as_u64().is_some_and(|count| count >= 1) => return Ok(()),
        Kind::Count => "an integer of at least 1".to_owned(),
        Kind::Amount if value.as_json().parse::<f64>().is_ok_and(is_amount) => return Ok(()),
        Kind::Amount => "a number of at least 0".to_owned(),
        Kind::Span if value.as_str().is_some_and(is_span) => return Ok(()),
        Kind::Span => "a span of time such as \"90m\", \"2h\" or \"30 days\"".to_owned(),
        Kind::Paths if value.as_array().is_some_and(are_paths) => return Ok(()),
        Kind::Paths => "a list of absolute paths, or of paths that begin with ~/".to_owned(),
        Kind::Store => match value.as_str().map(has_password) {
            Some(Some(false)) => return Ok(()),
            Some(Some(true)) => {
                return Err(format!(
                    "{name} must not contain a password; use PGPASSFILE or the environment"
                ));
            }
            _ => "an address that starts with postgres://".to_owned(),
        },
    };
    Err(format!("{name} must be {wanted}"))
}

fn are_paths(items: &[Value]) -> bool {
    let is_path = |text: &str| text.starts_with('/') || text.starts_with("~/");
    items.iter().all(|item| item.as_str().is_some_and(is_path))
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

fn is_span(text: &str) -> bool {
    span_seconds(text).is_some()
}

/// Parses a duration such as `90m`, `2h` or `30 days` into seconds.
pub fn span_seconds(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim();
    let unit = if unit.len() > 1 { unit.strip_suffix('s').unwrap_or(unit) } else { unit };
    let seconds = match unit {
        "s" | "second" => 1,
        "m" | "minute" => 60,
        "h" | "hour" => 3_600,
        "d" | "day" => 86_400,
        _ => return None,
    };
    let number: u32 = number.parse().ok().filter(|number| *number > 0)?;
    Some(u64::from(number) * seconds)
}

/// Whether a database URL contains a password; `None` if it is not a database URL.
fn has_password(address: &str) -> Option<bool> {
    let rest =
        address.strip_prefix("postgres://").or_else(|| address.strip_prefix("postgresql://"))?;
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let in_query = rest.split(['?', '&']).any(|part| part.starts_with("password="));
    let in_user = authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'));
    Some(in_query || in_user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_2_every_key_is_found_and_near_misses_are_named() {
        for name in ["agent", "tiers.codex.low", "limits.max_iterations.ralph", "notify.slack.url"]
        {
            assert!(row_of(name).is_ok(), "{name}");
        }
        for (wrong, near) in [
            ("agnet", "agent"),
            ("team.maxagents", "team.maxAgents"),
            ("limits.max_iterations.ralf", "limits.max_iterations.ralph"),
            ("tiers.codex.hi", "tiers.codex.high"),
        ] {
            let refusal = row_of(wrong).unwrap_err();
            assert!(refusal.contains(near), "{refusal}");
        }
    }

    #[test]
    fn configuration_2_values_are_checked_by_kind() {
        let ok = |kind, value: Value| check("k", kind, &value).is_ok();
        assert!(ok(Kind::Span, Value::string("30 days")));
        assert!(ok(Kind::Span, Value::string("2h")));
        assert!(!ok(Kind::Span, Value::string("h")));
        assert!(!ok(Kind::Span, Value::string("2 parsecs")));
        assert!(!ok(Kind::Count, Value::integer(0)));
        assert!(ok(Kind::Store, Value::string("postgres://me@host/db")));
        assert!(!ok(Kind::Store, Value::string("postgres://me:pw@host/db")));
        assert!(!ok(Kind::Store, Value::string("postgres://host/db?password=x")));
        assert!(!ok(Kind::Store, Value::string("mysql://host/db")));
        assert!(!ok(Kind::Choice(&AgentKind::NAMES), Value::string("codx")));
    }
}

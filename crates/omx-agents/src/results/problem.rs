//! Why an answer cannot be used, in one sentence for the agent that gave it.

use thiserror::Error;

use super::read::{MAX_BYTES, MAX_DEPTH};

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResultProblem {
    /// The answer contains nothing that could be a result.
    #[error("there is no result, because {why}")]
    NoResult {
        /// What was found instead.
        why: &'static str,
    },
    /// The result is not JSON.
    #[error("the result is not valid JSON: {detail}")]
    NotJson {
        /// With line and column, counted from the first line of the JSON.
        detail: String,
    },
    /// The result exceeds the size limit.
    #[error("the result is larger than {MAX_BYTES} bytes of JSON")]
    TooBig,
    /// The result exceeds the nesting limit.
    #[error("the result is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// The result breaks a rule of its schema.
    #[error("{place}: {detail}")]
    Invalid {
        /// Where: `field findings[2].severity`, or `the result`.
        place: String,
        /// What was found and what was expected.
        detail: String,
    },
    /// The subtasks of a plan depend on each other.
    #[error("the subtasks {ids} block each other through blocked_by")]
    Cycle {
        /// Their ids, in the order of the cycle.
        ids: String,
    },
}

/// The longest path in a message, in characters.
const PATH_LIMIT: usize = 200;
/// The longest detail in a message, in characters.
const DETAIL_LIMIT: usize = 400;
/// The longest quotation from an answer, in characters.
const QUOTE_LIMIT: usize = 60;

impl ResultProblem {
    /// A broken rule at a path such as `findings[2].severity`; `.` is the result itself.
    pub(super) fn invalid(path: &str, detail: &str) -> Self {
        let place = match path {
            "" | "." => "the result".to_owned(),
            path => format!("field {}", one_line(path, PATH_LIMIT)),
        };
        Self::Invalid { place, detail: one_line(detail, DETAIL_LIMIT) }
    }

    /// The message with which the agent is asked to try once more.
    pub fn retry_prompt(&self) -> String {
        format!(
            "Your last answer cannot be used: {self}. Do no further work. \
             Return the complete result again, corrected, as one JSON object \
             that matches the schema, in the form you were asked for."
        )
    }
}

/// A text of the agent in quotes, shortened.
pub(super) fn quote(text: &str) -> String {
    let short: String = text.chars().take(QUOTE_LIMIT).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("{short:?}{more}")
}

/// The text with control characters escaped, shortened.
fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == limit {
            line.push('…');
            break;
        }
        if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') {
            line.extend(letter.escape_default());
        } else {
            line.push(letter);
        }
    }
    line
}

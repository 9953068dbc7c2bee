//! Why an answer cannot be used: one sentence for the agent that gave it.

use serde_json::Value;
use thiserror::Error;

use super::json::{MAX_BYTES, MAX_DEPTH};
use super::place::Place;

/// What is wrong with an answer.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ResultProblem {
    /// It holds nothing that could be a result.
    #[error("there is no result, because {why}")]
    NoResult {
        /// What was found instead.
        why: &'static str,
    },
    /// What should be the result is not JSON.
    #[error("the result is not valid JSON: {detail}")]
    NotJson {
        /// With line and column, counted from the first line of the JSON.
        detail: String,
    },
    /// It is larger than any result may be.
    #[error("the result is larger than {MAX_BYTES} bytes of JSON")]
    TooBig,
    /// It is nested more deeply than any result is.
    #[error("the result is nested more than {MAX_DEPTH} levels deep at {place}")]
    TooDeep {
        /// Where.
        place: String,
    },
    /// A value does not fit.
    #[error("{place} must be {wanted}; got {got}")]
    Wrong {
        /// Which.
        place: String,
        /// What fits.
        wanted: String,
        /// What is there.
        got: String,
    },
    /// A field is not there.
    #[error("{place} is missing")]
    Missing {
        /// Which.
        place: String,
    },
    /// A field nobody knows.
    #[error("{place} is not known; the fields there are {known}")]
    Unknown {
        /// Which.
        place: String,
        /// Those that are known.
        known: String,
    },
    /// A field that is there twice.
    #[error("{place} is there twice")]
    Twice {
        /// Which.
        place: String,
    },
    /// Subtasks of which none can be first.
    #[error("the subtasks {ids} wait for each other through blocked_by")]
    Circle {
        /// Their ids, in the order of the circle.
        ids: String,
    },
}

impl ResultProblem {
    /// A value that does not fit.
    pub(super) fn wrong(place: &Place<'_>, wanted: impl Into<String>, got: &Value) -> Self {
        Self::Wrong { place: place.words(), wanted: wanted.into(), got: sample(got) }
    }

    /// What is said to the agent before it may try once more.
    pub fn retry_prompt(&self) -> String {
        format!(
            "Your last answer cannot be used: {self}. Do no further work. \
             Give the complete result once more, corrected, as one JSON object \
             that fits the schema, in the form you were asked for."
        )
    }
}

/// A value, short enough for a sentence.
fn sample(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

/// The longest piece of an answer in a sentence, in characters.
const SHOWN: usize = 60;

/// A text in quotes, on one line, with its end cut off if it is long.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}

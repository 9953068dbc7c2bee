//! conductor.md 4.1 and 4.2: the results of agents.

mod answers;
mod checker;
mod fuzz;
mod properties;
mod rules;
mod samples;
mod schemas;

use omx_agents::event::TurnAnswer;
use serde_json::Value;

/// An answer that is only text.
fn text_answer(text: impl Into<String>) -> TurnAnswer {
    TurnAnswer { text: text.into(), structured: None }
}

/// An answer with a structured result.
fn structured(value: &Value) -> TurnAnswer {
    TurnAnswer { text: String::new(), structured: Some(value.clone()) }
}

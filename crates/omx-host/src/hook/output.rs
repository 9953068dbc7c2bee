//! What a hook says back: one compact line in the host's own words.

use serde_json::{Map, Value, json};

use crate::HostKind;

/// An effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookOutput {
    /// None.
    Empty,
    /// The agent is told something.
    Context(String),
    /// The agent goes on, told why.
    Hold(String),
    /// The person is told something.
    Notice(String),
    /// A tool gets other arguments.
    Arguments(Map<String, Value>),
}

impl HookOutput {
    /// The line for this host, in answer to its event of that name.
    pub fn line(&self, host: HostKind, event: &str) -> String {
        let specific = |field: &str, value: Value| {
            let mut output = Map::new();
            output.insert("hookEventName".to_owned(), Value::from(event));
            output.insert(field.to_owned(), value);
            output
        };
        let wrapped = |output: Map<String, Value>| json!({ "hookSpecificOutput": output });
        let value = match (self, host) {
            (Self::Empty, _) => return "{}".to_owned(),
            (Self::Context(text), _) => {
                wrapped(specific("additionalContext", Value::from(text.as_str())))
            }
            (Self::Hold(text), HostKind::Gemini) => json!({ "decision": "deny", "reason": text }),
            (Self::Hold(text), _) => json!({ "decision": "block", "reason": text }),
            (Self::Notice(text), _) => json!({ "systemMessage": text }),
            (Self::Arguments(input), HostKind::Gemini) => {
                wrapped(specific("tool_input", Value::Object(input.clone())))
            }
            (Self::Arguments(input), HostKind::Claude) => {
                wrapped(specific("updatedInput", Value::Object(input.clone())))
            }
            (Self::Arguments(input), HostKind::Codex) => {
                let mut output = specific("updatedInput", Value::Object(input.clone()));
                output.insert("permissionDecision".to_owned(), Value::from("allow"));
                wrapped(output)
            }
        };
        value.to_string()
    }
}

//! What a hook answers: one compact line in the host's own format.

use omx_ops::hook::PromptReply;
use serde_json::{Map, Value, json};

use crate::HostKind;
use crate::hosts::{ApprovalForm, host_spec};

/// What a hook has the host do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookOutput {
    /// Nothing.
    Empty,
    /// Give the agent this context.
    Context(String),
    /// Give the agent this context, and show the person this line.
    ContextAndNotice {
        /// For the agent.
        context: String,
        /// For the person.
        notice: String,
    },
    /// Hold the stop: the agent continues, and reads why.
    Hold(String),
    /// Show the person this message.
    Notice(String),
    /// Call the tool with these arguments instead.
    Arguments(Map<String, Value>),
}

impl From<PromptReply> for HookOutput {
    fn from(reply: PromptReply) -> Self {
        match reply.person {
            Some(notice) => Self::ContextAndNotice { context: reply.agent, notice },
            None => Self::Context(reply.agent),
        }
    }
}

impl HookOutput {
    /// Formats the line for this host, in reply to its event of that name. `variable` looks
    /// up a variable that the host sets for its hooks.
    pub fn format_line(
        &self,
        host: HostKind,
        event: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> String {
        let form = host_spec(host).output;
        let specific = |field: &str, value: Value| {
            let mut output = Map::new();
            output.insert("hookEventName".to_owned(), Value::from(event));
            output.insert(field.to_owned(), value);
            output
        };
        let wrap = |output: Map<String, Value>| json!({ "hookSpecificOutput": output });
        let value = match self {
            Self::Empty => return "{}".to_owned(),
            Self::Context(text) => wrap(specific("additionalContext", Value::from(text.as_str()))),
            Self::ContextAndNotice { context, notice } => {
                let mut output = wrap(specific("additionalContext", Value::from(context.as_str())));
                output["systemMessage"] = Value::from(notice.as_str());
                output
            }
            Self::Hold(text) => {
                let takes_feedback = form.feedback.is_some_and(|feedback| {
                    variable(feedback.variable).is_some_and(|name| feedback.covers(&name))
                });
                match takes_feedback {
                    true => wrap(specific("additionalContext", Value::from(text.as_str()))),
                    false => json!({ "decision": form.hold, "reason": text }),
                }
            }
            Self::Notice(text) => json!({ "systemMessage": text }),
            Self::Arguments(input) => {
                let mut output = specific(form.arguments, Value::Object(input.clone()));
                if form.approval == ApprovalForm::Required {
                    output.insert("permissionDecision".to_owned(), Value::from("allow"));
                }
                wrap(output)
            }
        };
        value.to_string()
    }
}

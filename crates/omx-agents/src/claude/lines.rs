//! The lines written to claude.

use serde_json::{Value, json};

use crate::agent::ApprovalDecision;

/// A user message. Claude repeats its id when the model receives it.
pub(super) fn message(text: &str, id: &str) -> Value {
    // A leading slash would be a command to the program, not to the model.
    let guarded = if text.starts_with('/') { format!(" {text}") } else { text.to_owned() };
    let content = json!([{"type": "text", "text": guarded}]);
    json!({"type": "user", "uuid": id, "message": {"role": "user", "content": content}})
}

/// A control request to the program itself.
pub(super) fn request(id: &str, request: Value) -> Value {
    json!({"type": "control_request", "request_id": id, "request": request})
}

/// The response to a tool permission request, with the input it may run with.
pub(super) fn decision(id: &str, input: Value, decision: ApprovalDecision) -> Value {
    let answer = match decision {
        ApprovalDecision::Allow => json!({"behavior": "allow", "updatedInput": input}),
        ApprovalDecision::Deny(reason) => json!({"behavior": "deny", "message": reason}),
    };
    let response = json!({"subtype": "success", "request_id": id, "response": answer});
    json!({"type": "control_response", "response": response})
}

/// The response to an unknown request; without one, claude would wait.
pub(super) fn refusal(id: &str) -> Value {
    let error = "this client does not support the request";
    let response = json!({"subtype": "error", "request_id": id, "error": error});
    json!({"type": "control_response", "response": response})
}

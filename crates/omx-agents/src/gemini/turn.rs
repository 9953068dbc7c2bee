//! One turn: gemini's text and tool calls so far.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::tools::GeminiToolCall;
use crate::agent::{ApprovalDecision, ConversationSpec};
use crate::event::{
    AgentEvent, ApprovalId, CallId, ToolAction, ToolOutcome, TurnAnswer, UsageDelta,
};

/// The prefix with which gemini reports a change of mode, as if the model had
/// written it.
const MODE_CHANGED: &str = "[MODE_UPDATE] ";

/// A permission request that waits for a response.
#[derive(Debug)]
struct PendingPermission {
    request: Value,
    call: GeminiToolCall,
    allow: Option<String>,
    reject: Option<String>,
}

/// A running turn.
#[derive(Debug, Default)]
pub(super) struct GeminiTurn {
    /// The text since the last tool call.
    text: String,
    running_calls: BTreeSet<CallId>,
    used_tools: bool,
    pending: BTreeMap<ApprovalId, PendingPermission>,
    state: GeminiTurnState,
}

/// The state of a turn.
#[derive(Debug, Default, PartialEq, Eq)]
enum GeminiTurnState {
    #[default]
    Works,
    /// Gemini retries a request to the model.
    Retries,
    /// The turn was interrupted.
    Interrupted,
}

impl GeminiTurn {
    /// Notes that gemini retries a request to the model.
    pub(super) fn note_retry(&mut self) {
        if self.state == GeminiTurnState::Works {
            self.state = GeminiTurnState::Retries;
        }
    }

    /// Whether gemini is only retrying.
    pub(super) fn is_retrying(&self) -> bool {
        self.state == GeminiTurnState::Retries
    }

    /// Marks the turn as interrupted; false if it already was.
    pub(super) fn interrupt(&mut self) -> bool {
        std::mem::replace(&mut self.state, GeminiTurnState::Interrupted)
            != GeminiTurnState::Interrupted
    }

    /// Whether the turn was interrupted.
    pub(super) fn is_interrupted(&self) -> bool {
        self.state == GeminiTurnState::Interrupted
    }

    /// Handles a `session/update` of this turn.
    pub(super) fn update(&mut self, update: &Value, spec: &ConversationSpec) -> Vec<AgentEvent> {
        if self.state == GeminiTurnState::Retries {
            self.state = GeminiTurnState::Works;
        }
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => {
                let text = update["content"]["text"].as_str().unwrap_or_default();
                if !text.starts_with(MODE_CHANGED) {
                    self.text.push_str(text);
                }
                Vec::new()
            }
            Some("tool_call" | "tool_call_update") => {
                match GeminiToolCall::parse(update, &spec.servers) {
                    Some(call) => self.handle_call(call),
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn handle_call(&mut self, call: GeminiToolCall) -> Vec<AgentEvent> {
        let end = call.outcome();
        let changed = match (&call.tool, end) {
            (ToolAction::Edit(paths), Some(ToolOutcome::Succeeded)) => paths.clone(),
            _ => Vec::new(),
        };
        let mut events = self.start_call(&call);
        events.extend(changed.into_iter().map(AgentEvent::FileChanged));
        if let Some(end) = end {
            self.running_calls.remove(&call.id);
            events.push(AgentEvent::ToolFinished { call: call.id, end });
        }
        events
    }

    /// The events of a call that starts; none if it already has.
    fn start_call(&mut self, call: &GeminiToolCall) -> Vec<AgentEvent> {
        let mut events = self.take_text();
        if self.running_calls.insert(call.id.clone()) {
            self.used_tools = true;
            events.push(AgentEvent::ToolStarted { call: call.id.clone(), tool: call.tool.clone() });
        }
        events
    }

    /// The text so far, as one event.
    fn take_text(&mut self) -> Vec<AgentEvent> {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() { Vec::new() } else { vec![AgentEvent::Text(text)] }
    }

    /// Records a permission request; returns it as an error if it is malformed
    /// or if the turn was interrupted.
    pub(super) fn request_permission(
        &mut self,
        request: Value,
        params: &Value,
        spec: &ConversationSpec,
    ) -> Result<Vec<AgentEvent>, Value> {
        let reported = &params["toolCall"];
        let call =
            GeminiToolCall::parse(reported, &spec.servers).filter(|_| !self.is_interrupted());
        let Some(call) = call else { return Err(request) };
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let option = |kind: &str| {
            let option = options.iter().find(|option| option["kind"] == kind)?;
            option["optionId"].as_str().map(str::to_owned)
        };
        let ask = call.request(&spec.folder, reported["title"].as_str().unwrap_or_default());
        let approval = ApprovalId(request.to_string());
        let (allow, reject) = (option("allow_once"), option("reject_once"));
        self.pending.insert(approval.clone(), PendingPermission { request, call, allow, reject });
        let mut events = self.take_text();
        events.push(AgentEvent::ApprovalNeeded { approval, ask });
        Ok(events)
    }

    /// Answers a permission request: its id, the response and the resulting
    /// events. The response has no room for the reason of a denial.
    pub(super) fn answer(
        &mut self,
        approval: &ApprovalId,
        decision: &ApprovalDecision,
    ) -> Option<(Value, Value, Vec<AgentEvent>)> {
        let permission = self.pending.remove(approval)?;
        let (option, end) = match decision {
            ApprovalDecision::Allow => (permission.allow, None),
            ApprovalDecision::Deny(_) => (permission.reject, Some(ToolOutcome::Failed)),
        };
        let mut events = self.start_call(&permission.call);
        // A request without the needed option is denied.
        let end = if option.is_none() { Some(ToolOutcome::Failed) } else { end };
        if let Some(end) = end {
            self.running_calls.remove(&permission.call.id);
            events.push(AgentEvent::ToolFinished { call: permission.call.id, end });
        }
        let outcome = match option {
            Some(option) => json!({"outcome": "selected", "optionId": option}),
            None => json!({"outcome": "cancelled"}),
        };
        Some((permission.request, json!({"outcome": outcome}), events))
    }

    /// Removes all permission requests and returns their ids.
    pub(super) fn take_pending_requests(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.pending).into_values().map(|requested| requested.request).collect()
    }

    /// The last events of a turn: tool calls that never ended, and the usage.
    pub(super) fn close(&mut self, result: &Value) -> Vec<AgentEvent> {
        let at_work = std::mem::take(&mut self.running_calls).into_iter();
        let mut events: Vec<_> = at_work
            .map(|call| AgentEvent::ToolFinished { call, end: ToolOutcome::Failed })
            .collect();
        events.extend(parse_usage(result).map(AgentEvent::Usage));
        events
    }

    /// The answer of a finished turn; none if it is incomplete. When a response
    /// breaks off, gemini retries, sends the text of every attempt, and ends the
    /// turn normally; only the usage is missing. After a tool call, even that
    /// sign is absent.
    pub(super) fn finish(&mut self, result: &Value) -> Option<(Vec<AgentEvent>, TurnAnswer)> {
        if parse_usage(result).is_none() && !self.used_tools {
            return None;
        }
        let text = self.text.clone();
        Some((self.take_text(), TurnAnswer { text, structured: None }))
    }
}

/// The usage reported at the end of a turn.
fn parse_usage(result: &Value) -> Option<UsageDelta> {
    let count = &result["_meta"]["quota"]["token_count"];
    let usage = UsageDelta {
        input_tokens: count["input_tokens"].as_u64().unwrap_or_default(),
        output_tokens: count["output_tokens"].as_u64().unwrap_or_default(),
        ..UsageDelta::default()
    };
    (usage != UsageDelta::default()).then_some(usage)
}

/// The prompt of a turn, preceded by the role. A message that begins like one of
/// gemini's own commands gets a prefix, so that it reaches the model.
pub(super) fn prompt_text(role: Option<&str>, text: &str) -> String {
    let whole = match role {
        Some(role) => format!("{role}\n\n{text}"),
        None => text.to_owned(),
    };
    let blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    let command = whole.trim_start_matches(blank).starts_with(['/', '$']);
    if command { format!("Message:\n{whole}") } else { whole }
}

//! One turn: what gemini has said and done in it so far.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::tools::GeminiToolCall;
use crate::agent::{ApprovalDecision, ConversationSpec};
use crate::event::{
    AgentEvent, ApprovalId, CallId, ToolAction, ToolOutcome, TurnAnswer, UsageDelta,
};

/// How gemini says that its mode has changed: as if the model had said it.
const MODE_CHANGED: &str = "[MODE_UPDATE] ";

/// A request for permission that waits for an answer.
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
    /// Words since the last tool call.
    text: String,
    running_calls: BTreeSet<CallId>,
    used_tools: bool,
    pending: BTreeMap<ApprovalId, PendingPermission>,
    state: GeminiTurnState,
}

/// How a turn goes.
#[derive(Debug, Default, PartialEq, Eq)]
enum GeminiTurnState {
    #[default]
    Works,
    /// Gemini tries a request to the model again.
    Retries,
    /// It was told to stop.
    Interrupted,
}

impl GeminiTurn {
    /// Gemini tries a request to the model again.
    pub(super) fn note_retry(&mut self) {
        if self.state == GeminiTurnState::Works {
            self.state = GeminiTurnState::Retries;
        }
    }

    /// Whether that is all it does.
    pub(super) fn is_retrying(&self) -> bool {
        self.state == GeminiTurnState::Retries
    }

    /// Notes that gemini is told to stop; false if it was told before.
    pub(super) fn interrupt(&mut self) -> bool {
        std::mem::replace(&mut self.state, GeminiTurnState::Interrupted)
            != GeminiTurnState::Interrupted
    }

    /// Whether gemini was told to stop.
    pub(super) fn is_interrupted(&self) -> bool {
        self.state == GeminiTurnState::Interrupted
    }

    /// Takes a `session/update` of this turn.
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

    /// The events of a call that begins; none if it has begun before.
    fn start_call(&mut self, call: &GeminiToolCall) -> Vec<AgentEvent> {
        let mut events = self.take_text();
        if self.running_calls.insert(call.id.clone()) {
            self.used_tools = true;
            events.push(AgentEvent::ToolStarted { call: call.id.clone(), tool: call.tool.clone() });
        }
        events
    }

    /// The words so far, as a finished piece.
    fn take_text(&mut self) -> Vec<AgentEvent> {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() { Vec::new() } else { vec![AgentEvent::Text(text)] }
    }

    /// Takes a request for permission; gives it back if it cannot be
    /// understood, or if the turn is being interrupted.
    pub(super) fn request_permission(
        &mut self,
        request: Value,
        params: &Value,
        spec: &ConversationSpec,
    ) -> Result<Vec<AgentEvent>, Value> {
        let told = &params["toolCall"];
        let call = GeminiToolCall::parse(told, &spec.servers).filter(|_| !self.is_interrupted());
        let Some(call) = call else { return Err(request) };
        let options = params["options"].as_array().map(Vec::as_slice).unwrap_or_default();
        let option = |kind: &str| {
            let option = options.iter().find(|option| option["kind"] == kind)?;
            option["optionId"].as_str().map(str::to_owned)
        };
        let ask = call.request(&spec.folder, told["title"].as_str().unwrap_or_default());
        let approval = ApprovalId(request.to_string());
        let (allow, reject) = (option("allow_once"), option("reject_once"));
        self.pending.insert(approval.clone(), PendingPermission { request, call, allow, reject });
        let mut events = self.take_text();
        events.push(AgentEvent::ApprovalNeeded { approval, ask });
        Ok(events)
    }

    /// Answers a request for permission: its id, the answer, and what follows.
    /// Gemini has no place for the reason of a refusal.
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
        // What cannot be answered as it should be is refused.
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

    /// The requests that nobody will answer any more.
    pub(super) fn take_pending_requests(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.pending).into_values().map(|asked| asked.request).collect()
    }

    /// What is told when the turn is over: tools that never ended, and what
    /// was spent.
    pub(super) fn close(&mut self, result: &Value) -> Vec<AgentEvent> {
        let at_work = std::mem::take(&mut self.running_calls).into_iter();
        let mut events: Vec<_> = at_work
            .map(|call| AgentEvent::ToolFinished { call, end: ToolOutcome::Failed })
            .collect();
        events.extend(parse_usage(result).map(AgentEvent::Usage));
        events
    }

    /// The answer of a turn that came to its end; none if it is not whole.
    /// When the stream of an answer breaks, gemini tries again some times,
    /// tells the words of every attempt, and then ends the turn as if nothing
    /// had happened; only what it cost is missing. After a tool call not even
    /// that tells.
    pub(super) fn finish(&mut self, result: &Value) -> Option<(Vec<AgentEvent>, TurnAnswer)> {
        if parse_usage(result).is_none() && !self.used_tools {
            return None;
        }
        let text = self.text.clone();
        Some((self.take_text(), TurnAnswer { text, structured: None }))
    }
}

/// What a turn has cost, as its end tells.
fn parse_usage(result: &Value) -> Option<UsageDelta> {
    let count = &result["_meta"]["quota"]["token_count"];
    let usage = UsageDelta {
        input_tokens: count["input_tokens"].as_u64().unwrap_or_default(),
        output_tokens: count["output_tokens"].as_u64().unwrap_or_default(),
        ..UsageDelta::default()
    };
    (usage != UsageDelta::default()).then_some(usage)
}

/// What is said to begin a turn, with the role before it. A message that
/// begins like one of gemini's own commands would be carried out as one
/// instead of being said to the model.
pub(super) fn prompt_text(role: Option<&str>, text: &str) -> String {
    let whole = match role {
        Some(role) => format!("{role}\n\n{text}"),
        None => text.to_owned(),
    };
    let blank = |letter: char| letter.is_whitespace() || letter == '\u{feff}';
    let command = whole.trim_start_matches(blank).starts_with(['/', '$']);
    if command { format!("Message:\n{whole}") } else { whole }
}

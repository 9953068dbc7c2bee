//! Anthropic Messages, as Claude Code speaks it.

use serde_json::{Value, json};

use super::script::{ReplyBlock, ScriptedFailure};
use super::wire::{
    HistoryEntry, ModelReply, ReplyPart, StreamEvent, ToolInput, WireFormat, list, names, pieces,
    text,
};

/// `POST /v1/messages`
#[derive(Debug)]
pub(super) struct Anthropic;

/// The tool Claude Code offers when it was started with a schema.
const STRUCTURED: &str = "StructuredOutput";

/// What Claude Code says for the model when it goes on with a conversation
/// that ended in the middle of a turn.
const MADE_UP: &str = "No response requested.";

/// How Claude Code gives the model what the user said meanwhile.
const STEERED: &str = "The user sent a new message while you were working";

impl WireFormat for Anthropic {
    fn history(&self, body: &Value) -> Vec<HistoryEntry> {
        let mut voices = Vec::new();
        for message in list(&body["messages"]) {
            match message["role"].as_str() {
                Some("assistant") => {
                    let made_up = text(&message["content"]) == MADE_UP;
                    voices.push(if made_up { HistoryEntry::Other } else { HistoryEntry::Model });
                }
                Some("user") => {
                    let parts = list(&message["content"]);
                    let results = parts.iter().any(|part| part["type"] == "tool_result");
                    let text_seen = text(&message["content"]);
                    if results {
                        voices.push(HistoryEntry::Other);
                    }
                    if !results || !text_seen.is_empty() {
                        voices.push(HistoryEntry::User(text_seen));
                    }
                }
                // Reminders and contexts of hooks stand between as `system`;
                // so do words the user said while the model was at work.
                _ => {
                    let text_seen = text(&message["content"]);
                    let steered = text_seen.starts_with(STEERED);
                    voices.push(if steered {
                        HistoryEntry::User(text_seen)
                    } else {
                        HistoryEntry::Other
                    });
                }
            }
        }
        voices
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        names(&body["tools"])
    }

    fn part(&self, block: &ReplyBlock, body: &Value) -> Result<ReplyPart, String> {
        Ok(match block {
            ReplyBlock::Say(text) => ReplyPart::Text(text.clone()),
            ReplyBlock::Answer(value) if self.tools(body).iter().any(|name| name == STRUCTURED) => {
                ReplyPart::call(STRUCTURED, value.clone())
            }
            ReplyBlock::Answer(value) => ReplyPart::Text(value.to_string()),
            ReplyBlock::Shell(command) => {
                ReplyPart::call("Bash", json!({"command": command, "description": "scripted"}))
            }
            ReplyBlock::Write { path, content } => {
                ReplyPart::call("Write", json!({"file_path": path, "content": content}))
            }
            ReplyBlock::Patch(_) => return Err("Claude Code takes no patches".to_owned()),
            ReplyBlock::Call { name, arguments, .. } => ReplyPart::call(name, arguments.clone()),
            ReplyBlock::Mcp { server, tool, arguments } => {
                ReplyPart::call(format!("mcp__{server}__{tool}"), arguments.clone())
            }
        })
    }

    fn streams(&self, _path: &str, body: &Value) -> bool {
        body["stream"] == true
    }

    fn events(&self, reply: &ModelReply) -> Vec<StreamEvent> {
        let mut start = message(reply);
        start["content"] = json!([]);
        start["stop_reason"] = Value::Null;
        start["usage"]["output_tokens"] = 1.into();
        let mut events = vec![StreamEvent::typed("message_start", json!({"message": start}))];
        for (index, part) in reply.parts.iter().enumerate() {
            let mut empty = block(part, reply.number, index);
            let mut deltas = Vec::new();
            match part {
                ReplyPart::Text(text) => {
                    empty["text"] = "".into();
                    for piece in pieces(text, reply.words) {
                        deltas.push(json!({"type": "text_delta", "text": piece}));
                    }
                }
                ReplyPart::Call { .. } => {
                    let input = empty["input"].to_string();
                    empty["input"] = json!({});
                    deltas.push(json!({"type": "input_json_delta", "partial_json": input}));
                }
            }
            let begun = json!({"index": index, "content_block": empty});
            events.push(StreamEvent::typed("content_block_start", begun));
            for delta in deltas {
                let data = json!({"index": index, "delta": delta});
                let event = StreamEvent::typed("content_block_delta", data);
                events.push(if matches!(part, ReplyPart::Text(_)) { event.paced() } else { event });
            }
            events.push(StreamEvent::typed("content_block_stop", json!({"index": index})));
        }
        let end = json!({
            "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
            "usage": {"output_tokens": reply.usage.output}
        });
        events.push(StreamEvent::typed("message_delta", end));
        events.push(StreamEvent::typed("message_stop", json!({})));
        events
    }

    fn whole(&self, reply: &ModelReply) -> Value {
        message(reply)
    }

    fn error(&self, status: u16, failure: &ScriptedFailure) -> (Value, Vec<(String, String)>) {
        let kind = failure.code.as_deref().unwrap_or(match status {
            401 => "authentication_error",
            403 => "permission_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        });
        let mut headers = Vec::new();
        if let Some(epoch) = failure.resets_at {
            let name = "anthropic-ratelimit-unified-";
            headers.push((format!("{name}status"), "rejected".to_owned()));
            headers.push((format!("{name}reset"), epoch.to_string()));
        }
        let error = json!({"type": kind, "message": failure.message});
        (json!({"type": "error", "error": error}), headers)
    }

    fn schema<'a>(&self, body: &'a Value) -> Option<&'a Value> {
        let tool = list(&body["tools"]).iter().find(|tool| tool["name"] == STRUCTURED)?;
        Some(&tool["input_schema"])
    }
}

fn block(part: &ReplyPart, number: usize, index: usize) -> Value {
    match part {
        ReplyPart::Text(text) => json!({"type": "text", "text": text}),
        ReplyPart::Call { name, input, .. } => {
            let input = match input {
                ToolInput::Json(value) => value.clone(),
                ToolInput::Free(text) => json!({"input": text}),
            };
            let id = format!("toolu_{number}_{index}");
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

fn stop_reason(reply: &ModelReply) -> &'static str {
    let calls = reply.parts.iter().any(|part| matches!(part, ReplyPart::Call { .. }));
    if calls { "tool_use" } else { "end_turn" }
}

fn message(reply: &ModelReply) -> Value {
    let parts = reply.parts.iter().enumerate();
    let content: Vec<Value> = parts.map(|(index, part)| block(part, reply.number, index)).collect();
    json!({
        "id": format!("msg_{}", reply.number), "type": "message", "role": "assistant",
        "model": reply.model, "content": content, "stop_reason": stop_reason(reply),
        "stop_sequence": null,
        "usage": {
            "input_tokens": reply.usage.input, "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0, "output_tokens": reply.usage.output
        }
    })
}

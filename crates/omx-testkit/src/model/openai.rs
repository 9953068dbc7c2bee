//! OpenAI Responses, as Codex speaks it.

use serde_json::{Value, json};

use super::script::{ReplyBlock, ScriptedFailure};
use super::wire::{
    HistoryEntry, ModelReply, ReplyPart, StreamEvent, ToolInput, WireFormat, list, pieces, text,
};

/// `POST /v1/responses`
#[derive(Debug)]
pub(super) struct OpenAi;

impl WireFormat for OpenAi {
    fn history(&self, body: &Value) -> Vec<HistoryEntry> {
        if let Some(text) = body["input"].as_str() {
            return vec![HistoryEntry::User(text.to_owned())];
        }
        list(&body["input"]).iter().map(voice).collect()
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        let mut names = Vec::new();
        for tool in list(&body["tools"]) {
            let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
            if tool["type"] == "namespace" {
                let inside = list(&tool["tools"]).iter().filter_map(|inner| inner["name"].as_str());
                names.extend(inside.map(|inner| format!("{name}::{inner}")));
            } else {
                names.push(name.to_owned());
            }
        }
        names
    }

    fn part(&self, block: &ReplyBlock, body: &Value) -> Result<ReplyPart, String> {
        let tools = self.tools(body);
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        Ok(match block {
            ReplyBlock::Say(text) => ReplyPart::Text(text.clone()),
            // Codex asks for a schema with `text.format` and takes the text.
            ReplyBlock::Answer(value) => ReplyPart::Text(value.to_string()),
            ReplyBlock::Shell(command) if has("exec_command") => {
                ReplyPart::call("exec_command", json!({"cmd": command}))
            }
            ReplyBlock::Shell(command) if has("shell_command") => {
                ReplyPart::call("shell_command", json!({"command": command}))
            }
            ReplyBlock::Shell(command) => {
                ReplyPart::call("shell", json!({"command": ["bash", "-lc", command]}))
            }
            ReplyBlock::Write { path, content } => patch(body, &added(path, content)),
            ReplyBlock::Patch(text) => patch(body, text),
            ReplyBlock::Call { namespace, name, arguments } => {
                ReplyPart::call_in(namespace.clone(), name, arguments.clone())
            }
            ReplyBlock::Mcp { server, tool, arguments } => {
                let listed = tools.iter().find_map(|name| {
                    let (space, inner) = name.split_once("::")?;
                    (inner == tool && space.contains(server.as_str())).then(|| space.to_owned())
                });
                // Tools of MCP servers are not listed but found by `tool_search`;
                // a call then needs the namespace in a field of its own.
                let space = listed.or_else(|| has("tool_search").then(|| format!("mcp__{server}")));
                match space {
                    Some(space) => ReplyPart::call_in(Some(space), tool, arguments.clone()),
                    None => ReplyPart::call(format!("mcp__{server}__{tool}"), arguments.clone()),
                }
            }
        })
    }

    fn streams(&self, _path: &str, body: &Value) -> bool {
        body["stream"] == true
    }

    fn events(&self, reply: &ModelReply) -> Vec<StreamEvent> {
        let mut events = vec![StreamEvent::typed(
            "response.created",
            json!({"response": response(reply, "in_progress", &[], &Value::Null)}),
        )];
        let mut output = Vec::new();
        for (index, part) in reply.parts.iter().enumerate() {
            let item = item(part, reply.number, index);
            let mut begun = item.clone();
            begun["status"] = "in_progress".into();
            if let ReplyPart::Text(text) = part {
                begun["content"] = json!([]);
                let place =
                    json!({"item_id": item["id"], "output_index": index, "content_index": 0});
                let with = |key: &str, value: Value| {
                    let mut data = place.clone();
                    data[key] = value;
                    data
                };
                events.push(added_item(index, begun));
                let empty = json!({"type": "output_text", "text": "", "annotations": []});
                events.push(StreamEvent::typed("response.content_part.added", with("part", empty)));
                for piece in pieces(text, reply.words) {
                    let data = with("delta", piece.into());
                    events.push(StreamEvent::typed("response.output_text.delta", data).paced());
                }
                let whole = with("text", text.as_str().into());
                events.push(StreamEvent::typed("response.output_text.done", whole));
            } else {
                events.push(added_item(index, begun));
            }
            let done = json!({"output_index": index, "item": item});
            events.push(StreamEvent::typed("response.output_item.done", done));
            output.push(item);
        }
        let done = response(reply, "completed", &output, &usage(reply));
        events.push(StreamEvent::typed("response.completed", json!({"response": done})));
        events
    }

    fn whole(&self, reply: &ModelReply) -> Value {
        let parts = reply.parts.iter().enumerate();
        let output: Vec<Value> =
            parts.map(|(index, part)| item(part, reply.number, index)).collect();
        response(reply, "completed", &output, &usage(reply))
    }

    fn error(&self, status: u16, failure: &ScriptedFailure) -> (Value, Vec<(String, String)>) {
        let kind = failure.code.as_deref().unwrap_or(match status {
            401 => "authentication_error",
            429 => "rate_limit_exceeded",
            400..500 => "invalid_request_error",
            _ => "server_error",
        });
        let mut error = json!({"type": kind, "code": kind, "message": failure.message});
        if let Some(epoch) = failure.resets_at {
            error["resets_at"] = epoch.into();
        }
        (json!({"error": error}), Vec::new())
    }

    fn schema<'a>(&self, body: &'a Value) -> Option<&'a Value> {
        let format = &body["text"]["format"];
        (format["type"] == "json_schema").then(|| &format["schema"])
    }
}

fn voice(item: &Value) -> HistoryEntry {
    match item["type"].as_str().unwrap_or("message") {
        "message" => match item["role"].as_str() {
            Some("assistant") => HistoryEntry::Model,
            Some("user") | None => HistoryEntry::User(text(&item["content"])),
            Some(_) => HistoryEntry::Other,
        },
        // What one agent of a team says to another.
        "agent_message" => HistoryEntry::User(text(&item["content"])),
        "reasoning" => HistoryEntry::Model,
        kind if kind.ends_with("_call") => HistoryEntry::Model,
        _ => HistoryEntry::Other,
    }
}

fn patch(body: &Value, patch: &str) -> ReplyPart {
    let tool = list(&body["tools"]).iter().find(|tool| tool["name"] == "apply_patch");
    if tool.is_some_and(|tool| tool["type"] == "function") {
        return ReplyPart::call("apply_patch", json!({"input": patch}));
    }
    let (name, input) = ("apply_patch".to_owned(), ToolInput::Free(patch.to_owned()));
    ReplyPart::Call { namespace: None, name, input }
}

/// A patch that adds a file.
fn added(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n")
}

fn added_item(index: usize, item: Value) -> StreamEvent {
    StreamEvent::typed("response.output_item.added", json!({"output_index": index, "item": item}))
}

fn item(part: &ReplyPart, number: usize, index: usize) -> Value {
    let id = |kind: &str| format!("{kind}_{number}_{index}");
    match part {
        ReplyPart::Text(text) => json!({
            "type": "message", "id": id("msg"), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}]
        }),
        ReplyPart::Call { name, input: ToolInput::Json(arguments), .. }
            if name == "tool_search" =>
        {
            json!({
                "type": "tool_search_call", "id": id("tsc"), "call_id": id("call"),
                "status": "completed", "execution": "client", "arguments": arguments
            })
        }
        ReplyPart::Call { name, input: ToolInput::Free(text), .. } => json!({
            "type": "custom_tool_call", "id": id("ctc"), "call_id": id("call"),
            "status": "completed", "name": name, "input": text
        }),
        ReplyPart::Call { namespace, name, input: ToolInput::Json(arguments) } => {
            let mut item = json!({
                "type": "function_call", "id": id("fc"), "call_id": id("call"),
                "status": "completed", "name": name, "arguments": arguments.to_string()
            });
            if let Some(namespace) = namespace {
                item["namespace"] = namespace.as_str().into();
            }
            item
        }
    }
}

fn usage(reply: &ModelReply) -> Value {
    let usage = reply.usage;
    json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output
    })
}

fn response(reply: &ModelReply, status: &str, output: &[Value], usage: &Value) -> Value {
    json!({
        "id": format!("resp_{}", reply.number), "object": "response", "status": status,
        "model": reply.model, "output": output, "usage": usage
    })
}

//! Gemini's API, as Gemini CLI speaks it.

use serde_json::{Value, json};

use super::script::{ReplyBlock, ScriptedFailure};
use super::wire::{
    HistoryEntry, ModelReply, ReplyPart, StreamEvent, ToolInput, WireFormat, list, names, pieces,
    text,
};

/// `POST /v1beta/models/MODEL:streamGenerateContent` and `:generateContent`
#[derive(Debug)]
pub(super) struct GeminiFormat;

impl WireFormat for GeminiFormat {
    fn history(&self, body: &Value) -> Vec<HistoryEntry> {
        let mut voices = Vec::new();
        for content in list(&body["contents"]) {
            if content["role"] == "model" {
                voices.push(HistoryEntry::Model);
                continue;
            }
            let results =
                list(&content["parts"]).iter().any(|part| part.get("functionResponse").is_some());
            let text_seen = text(&content["parts"]);
            if results {
                voices.push(HistoryEntry::Other);
            }
            if !results || !text_seen.is_empty() {
                voices.push(HistoryEntry::User(text_seen));
            }
        }
        voices
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        let groups = list(&body["tools"]).iter();
        groups.flat_map(|group| names(&group["functionDeclarations"])).collect()
    }

    fn part(&self, block: &ReplyBlock, body: &Value) -> Result<ReplyPart, String> {
        Ok(match block {
            ReplyBlock::Say(text) => ReplyPart::Text(text.clone()),
            // No way to ask for a schema: a fence in the text.
            ReplyBlock::Answer(value) => ReplyPart::Text(format!("```json\n{value}\n```")),
            ReplyBlock::Shell(command) => {
                let arguments = json!({"command": command, "description": "scripted"});
                ReplyPart::call("run_shell_command", arguments)
            }
            ReplyBlock::Write { path, content } => {
                ReplyPart::call("write_file", json!({"file_path": path, "content": content}))
            }
            ReplyBlock::Patch(_) => return Err("Gemini CLI takes no patches".to_owned()),
            ReplyBlock::Call { name, arguments, .. } => ReplyPart::call(name, arguments.clone()),
            ReplyBlock::Mcp { server, tool, arguments } => {
                // The way names are joined has changed before: what is listed counts.
                let listed = self.tools(body).into_iter().find(|name| {
                    name.strip_suffix(tool.as_str())
                        .is_some_and(|start| start.contains(server.as_str()))
                });
                let name = listed.unwrap_or_else(|| format!("mcp_{server}_{tool}"));
                ReplyPart::call(name, arguments.clone())
            }
        })
    }

    fn streams(&self, path: &str, _body: &Value) -> bool {
        path.ends_with(":streamGenerateContent")
    }

    fn events(&self, reply: &ModelReply) -> Vec<StreamEvent> {
        let event = |parts: Value, end| StreamEvent {
            name: None,
            data: response(reply, &parts, end),
            paced: false,
        };
        let mut events = Vec::new();
        for (index, part) in reply.parts.iter().enumerate() {
            match part {
                ReplyPart::Text(text) => {
                    for piece in pieces(text, reply.words) {
                        events.push(event(json!([{"text": piece}]), false).paced());
                    }
                }
                ReplyPart::Call { .. } => {
                    events.push(event(json!([content(part, reply.number, index)]), false));
                }
            }
        }
        events.push(event(json!([{"text": ""}]), true));
        events
    }

    fn whole(&self, reply: &ModelReply) -> Value {
        let parts = reply.parts.iter().enumerate();
        let parts: Vec<Value> =
            parts.map(|(index, part)| content(part, reply.number, index)).collect();
        response(reply, &parts.into(), true)
    }

    fn error(&self, status: u16, failure: &ScriptedFailure) -> (Value, Vec<(String, String)>) {
        let word = failure.code.as_deref().unwrap_or(match status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            400..500 => "INVALID_ARGUMENT",
            _ => "INTERNAL",
        });
        let mut error = json!({"code": status, "status": word, "message": failure.message});
        if let Some(seconds) = failure.retry_after {
            error["details"] = json!([{
                "@type": "type.googleapis.com/google.rpc.RetryInfo",
                "retryDelay": format!("{seconds}s")
            }]);
        }
        (json!({"error": error}), Vec::new())
    }

    fn schema<'a>(&self, body: &'a Value) -> Option<&'a Value> {
        let config = &body["generationConfig"];
        config.get("responseJsonSchema").or_else(|| config.get("responseSchema"))
    }
}

fn content(part: &ReplyPart, number: usize, index: usize) -> Value {
    match part {
        ReplyPart::Text(text) => json!({"text": text}),
        ReplyPart::Call { name, input, .. } => {
            let arguments = match input {
                ToolInput::Json(value) => value.clone(),
                ToolInput::Free(text) => json!({"input": text}),
            };
            let id = format!("fc_{number}_{index}");
            json!({"functionCall": {"id": id, "name": name, "args": arguments}})
        }
    }
}

fn response(reply: &ModelReply, parts: &Value, end: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if end {
        candidate["finishReason"] = "STOP".into();
    }
    let usage = reply.usage;
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": usage.input, "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.input + usage.output
        },
        "modelVersion": "scripted", "responseId": format!("r{}", reply.number)
    })
}

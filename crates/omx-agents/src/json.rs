//! Events as programs see them: one JSON object each.

use serde_json::{Value, json};

use crate::event::{Ask, Delivery, Event, Tool, ToolEnd};
use crate::trouble::Trouble;

/// An event as an object; its kind stands under `event`.
pub fn event(event: &Event) -> Value {
    match event {
        Event::Started { conversation, model } => {
            json!({"event": "started", "conversation": conversation.as_str(), "model": model})
        }
        Event::Delivered(delivery) => {
            let how = match delivery {
                Delivery::Turn => "turn",
                Delivery::Steered => "steered",
                Delivery::Queued => "queued",
            };
            json!({"event": "delivered", "how": how})
        }
        Event::Listening => json!({"event": "listening"}),
        Event::Text(text) => json!({"event": "text", "text": text}),
        Event::ToolStarted { call, tool } => {
            let mut object = tool_object(tool);
            object["event"] = json!("tool_started");
            object["call"] = json!(call.0);
            object
        }
        Event::ToolFinished { call, end } => {
            let (ok, code) = match end {
                ToolEnd::Succeeded => (true, None),
                ToolEnd::Failed => (false, None),
                ToolEnd::Exited(code) => (*code == 0, Some(code)),
            };
            json!({"event": "tool_finished", "call": call.0, "ok": ok, "exit_code": code})
        }
        Event::FileChanged(path) => json!({"event": "file_changed", "path": path}),
        Event::ApprovalNeeded { approval, ask } => {
            json!({"event": "approval_needed", "approval": approval.0, "ask": ask_object(ask)})
        }
        Event::Usage(usage) => json!({
            "event": "usage",
            "input_tokens": usage.input_tokens,
            "cached_tokens": usage.cached_tokens,
            "output_tokens": usage.output_tokens,
            "micro_usd": usage.micro_usd,
        }),
        Event::Retrying(trouble) => with_trouble("retrying", trouble),
        Event::TurnFinished(answer) => {
            json!({"event": "turn_finished", "text": answer.text, "structured": answer.structured})
        }
        Event::TurnInterrupted => json!({"event": "turn_interrupted"}),
        Event::TurnFailed(trouble) => with_trouble("turn_failed", trouble),
        Event::Ended(Some(trouble)) => with_trouble("ended", trouble),
        Event::Ended(None) => json!({"event": "ended"}),
    }
}

/// What an agent wants to do, as an object.
pub fn ask_object(ask: &Ask) -> Value {
    let reach = |reach| match reach {
        crate::event::Reach::Inside => "inside",
        crate::event::Reach::Outside => "outside",
    };
    match ask {
        Ask::Edit { paths, reach: at } => {
            json!({"kind": "edit", "paths": paths, "reach": reach(*at)})
        }
        Ask::Command { command, reach: at } => {
            json!({"kind": "command", "command": command, "reach": reach(*at)})
        }
        Ask::Tool { server, tool } => json!({"kind": "tool", "server": server, "tool": tool}),
        Ask::Other { what } => json!({"kind": "other", "what": what}),
    }
}

/// Trouble as an object: its word, its sentence, and what to do about it.
pub fn with_trouble(event: &str, trouble: &Trouble) -> Value {
    json!({
        "event": event,
        "agent": trouble.agent.as_str(),
        "kind": trouble.kind(),
        "error": trouble.to_string(),
        "remedy": trouble.remedy(),
    })
}

fn tool_object(tool: &Tool) -> Value {
    match tool {
        Tool::Command(line) => json!({"kind": "command", "command": line}),
        Tool::Edit(paths) => json!({"kind": "edit", "paths": paths}),
        Tool::Mcp { server, tool } => json!({"kind": "mcp", "server": server, "tool": tool}),
        Tool::Other(name) => json!({"kind": "other", "tool": name}),
    }
}

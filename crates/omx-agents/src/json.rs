//! Events as JSON objects, for programs that read omx's output.

use serde_json::{Value, json};

use crate::event::{AgentEvent, ApprovalRequest, Delivery, ToolAction, ToolOutcome};
use crate::failure::Failure;

/// An event as an object, with its kind under `event`.
pub fn event_object(event: &AgentEvent) -> Value {
    match event {
        AgentEvent::Started { conversation, model } => {
            json!({"event": "started", "conversation": conversation.as_str(), "model": model})
        }
        AgentEvent::Delivered(delivery) => {
            let how = match delivery {
                Delivery::Turn => "turn",
                Delivery::Steered => "steered",
                Delivery::Queued => "queued",
            };
            json!({"event": "delivered", "how": how})
        }
        AgentEvent::Listening => json!({"event": "listening"}),
        AgentEvent::Text(text) => json!({"event": "text", "text": text}),
        AgentEvent::ToolStarted { call, tool } => {
            let mut object = tool_object(tool);
            object["event"] = json!("tool_started");
            object["call"] = json!(call.0);
            object
        }
        AgentEvent::ToolFinished { call, end } => {
            let (ok, code) = match end {
                ToolOutcome::Succeeded => (true, None),
                ToolOutcome::Failed => (false, None),
                ToolOutcome::Exited(code) => (*code == 0, Some(code)),
            };
            json!({"event": "tool_finished", "call": call.0, "ok": ok, "exit_code": code})
        }
        AgentEvent::FileChanged(path) => json!({"event": "file_changed", "path": path}),
        AgentEvent::ApprovalNeeded { approval, ask } => {
            json!({"event": "approval_needed", "approval": approval.0, "ask": approval_object(ask)})
        }
        AgentEvent::Usage(usage) => json!({
            "event": "usage",
            "input_tokens": usage.input_tokens,
            "cached_tokens": usage.cached_tokens,
            "output_tokens": usage.output_tokens,
            "micro_usd": usage.micro_usd,
        }),
        AgentEvent::Retrying(failure) => failure_object("retrying", failure),
        AgentEvent::TurnFinished(answer) => {
            json!({"event": "turn_finished", "text": answer.text, "structured": answer.structured})
        }
        AgentEvent::TurnInterrupted => json!({"event": "turn_interrupted"}),
        AgentEvent::TurnFailed(failure) => failure_object("turn_failed", failure),
        AgentEvent::Ended(Some(failure)) => failure_object("ended", failure),
        AgentEvent::Ended(None) => json!({"event": "ended"}),
    }
}

/// An approval request as an object.
pub fn approval_object(ask: &ApprovalRequest) -> Value {
    let reach = |reach| match reach {
        crate::event::TargetLocation::Inside => "inside",
        crate::event::TargetLocation::Outside => "outside",
    };
    match ask {
        ApprovalRequest::Edit { paths, location: at } => {
            json!({"kind": "edit", "paths": paths, "reach": reach(*at)})
        }
        ApprovalRequest::Command { command, location: at } => {
            json!({"kind": "command", "command": command, "reach": reach(*at)})
        }
        ApprovalRequest::Tool { server, tool } => {
            json!({"kind": "tool", "server": server, "tool": tool})
        }
        ApprovalRequest::Other { what } => json!({"kind": "other", "what": what}),
    }
}

/// A failure as an object: its cause, its message and its remedy.
pub fn failure_object(event: &str, failure: &Failure) -> Value {
    json!({
        "event": event,
        "agent": failure.agent.as_str(),
        "kind": failure.kind(),
        "error": failure.to_string(),
        "remedy": failure.remedy(),
    })
}

fn tool_object(tool: &ToolAction) -> Value {
    match tool {
        ToolAction::Command(line) => json!({"kind": "command", "command": line}),
        ToolAction::Edit(paths) => json!({"kind": "edit", "paths": paths}),
        ToolAction::Mcp { server, tool } => json!({"kind": "mcp", "server": server, "tool": tool}),
        ToolAction::Other(name) => json!({"kind": "other", "tool": name}),
    }
}

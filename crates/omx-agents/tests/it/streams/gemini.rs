//! Lines of `gemini --acp` 0.61.

use omx_agents::AgentKind;
use serde_json::{Value, json};

use super::row::{ApprovalSupport, DriverRow, ProgramMemory};

pub const ROW: DriverRow = DriverRow {
    kind: AgentKind::Gemini,
    approvals: ApprovalSupport::Asks,
    answer,
    unsolicited: UNASKED,
    stderr_lines: COMPLAINTS,
};

const SESSION: &str = "13cdde46-591b-44bd-a6f4-757db7b3f8da";

fn answer(mind: &mut ProgramMemory, line: &Value) -> Vec<Value> {
    let granted = |result: Value| json!({"jsonrpc": "2.0", "id": line["id"], "result": result});
    let mode = if mind.argument("--approval-mode") == Some("yolo") { "yolo" } else { "autoEdit" };
    match line["method"].as_str() {
        Some("initialize") => vec![granted(json!({
            "protocolVersion": 1,
            "authMethods": [{"id": "gemini-api-key", "name": "Gemini API key"}],
            "agentInfo": {"name": "gemini-cli", "version": "0.61.0"},
            "agentCapabilities": {"loadSession": true, "mcpCapabilities": {"http": true}},
        }))],
        Some("session/new") => vec![
            granted(json!({
                "sessionId": SESSION,
                "modes": {"availableModes": [], "currentModeId": mode},
                "models": {"availableModels": [{"modelId": "auto"}], "currentModelId": "gemini-2.5-flash"},
            })),
            update(json!({"sessionUpdate": "available_commands_update", "availableCommands": []})),
        ],
        Some("session/load") => vec![
            update(
                json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go"}}),
            ),
            update(
                json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "done"}}),
            ),
            granted(json!({"modes": {"availableModes": [], "currentModeId": mode}})),
        ],
        Some("session/prompt") => {
            mind.turns += 1;
            mind.request = line["id"].clone();
            let mut lines = turn();
            lines.push(granted(json!({
                "stopReason": "end_turn",
                "_meta": {"quota": {"token_count": {"input_tokens": 4000, "output_tokens": 80}}},
            })));
            lines
        }
        Some("session/cancel") => {
            vec![
                json!({"jsonrpc": "2.0", "id": mind.request, "result": {"stopReason": "cancelled"}}),
            ]
        }
        Some(_) if line.get("id").is_some() => vec![granted(json!({}))],
        _ => Vec::new(),
    }
}

fn update(update: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": update}})
}

fn turn() -> Vec<Value> {
    let call = |id: &str, kind: &str, title: &str| {
        update(json!({
            "sessionUpdate": "tool_call", "toolCallId": id, "status": "in_progress",
            "title": title, "content": [], "locations": [{"path": "/w/made.txt"}], "kind": kind,
        }))
    };
    let done = |id: &str, kind: &str, content: Value| {
        update(json!({
            "sessionUpdate": "tool_call_update", "toolCallId": id, "status": "completed",
            "title": "x", "content": [content], "locations": [], "kind": kind,
        }))
    };
    let text = json!({"type": "content", "content": {"type": "text", "text": "ok"}});
    vec![
        call("write_file__fc_1", "edit", "Writing to made.txt"),
        done(
            "write_file__fc_1",
            "edit",
            json!({"type": "diff", "path": "/w/made.txt", "oldText": "", "newText": "one\n"}),
        ),
        json!({"jsonrpc": "2.0", "id": 0, "method": "session/request_permission", "params": {
            "sessionId": SESSION,
            "options": [
                {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"},
                {"optionId": "cancel", "name": "Reject", "kind": "reject_once"},
            ],
            "toolCall": {"toolCallId": "run_shell_command__fc_2", "status": "pending", "title": "ls", "content": [], "locations": [], "kind": "execute"},
        }}),
        call("run_shell_command__fc_2", "execute", "ls"),
        done("run_shell_command__fc_2", "execute", text.clone()),
        call("mcp_omx_state_read__fc_3", "other", "state_read (omx MCP Server)"),
        done("mcp_omx_state_read__fc_3", "other", text),
        update(
            json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}),
        ),
        update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "do"}}),
        ),
        update(
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "ne"}}),
        ),
    ]
}

const UNASKED: &str = r#"
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"another","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not mine"}}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"13cdde46-591b-44bd-a6f4-757db7b3f8da","update":{"sessionUpdate":"plan","entries":[]}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"13cdde46-591b-44bd-a6f4-757db7b3f8da","update":{"sessionUpdate":"tool_call_update","toolCallId":"nobody","status":"failed","content":[]}}}
{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"13cdde46-591b-44bd-a6f4-757db7b3f8da","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":""}}}}
{"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"13cdde46-591b-44bd-a6f4-757db7b3f8da","options":[],"toolCall":{"toolCallId":"x"}}}
{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"options":[{"optionId":"a","kind":"allow_always"}],"toolCall":{"toolCallId":"edit__1","kind":"edit","locations":[{"path":"/etc/passwd"}],"content":[{"type":"diff","path":"/etc/passwd","newText":""}]}}}
{"jsonrpc":"2.0","id":8,"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}
{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"details":"x"}}}
{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"Authentication required"}}
{"jsonrpc":"2.0","id":2,"result":{"sessionId":"../../etc"}}
{"jsonrpc":"2.0","id":3,"error":{"code":429,"message":"You have exhausted your capacity on this model. Your quota will reset after 1h2m3s."}}
{"jsonrpc":"2.0","id":3,"error":{"code":500,"message":"{\"error\":{\"code\":500,\"message\":\"x\"}}"}}
{"jsonrpc":"2.0","id":3,"result":{"stopReason":"max_tokens"}}
{"jsonrpc":"2.0","id":4,"result":{"stopReason":"refusal"}}
{"jsonrpc":"2.0","id":4,"result":{"stopReason":"end_turn"}}
"#;

const COMPLAINTS: &[&str] = &[
    "[2026-11-15T12:43:01.996Z] [WARN] Attempt 1 failed with status 429. Retrying with backoff... _ApiError: {\"error\":{\"code\":429,\"message\":\"slow down\"}}",
    "[2026-11-15T12:43:01.996Z] [WARN] Attempt 3 failed with status 500. Retrying with backoff... _ApiError: x",
    "[2026-11-15T12:43:01.996Z] [WARN] Attempt 1 failed: You have exhausted your capacity. Retrying after 3600000ms...",
    "[2026-11-15T12:43:01.996Z] [WARN] Attempt 99999999999 failed: x",
    "    at somewhere (file.js:1:2) {",
    "}",
];

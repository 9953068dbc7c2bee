//! Lines of `codex exec --json` 0.166, the fallback without an app-server.

use omx_agents::AgentKind;
use serde_json::{Value, json};

use super::row::{ApprovalSupport, DriverRow, ProgramMemory};

pub const ROW: DriverRow = DriverRow {
    kind: AgentKind::Codex,
    approvals: ApprovalSupport::NeverAsks,
    answer,
    unsolicited: UNASKED,
    stderr_lines: &[],
};

fn answer(mind: &mut ProgramMemory, line: &Value) -> Vec<Value> {
    match (line, line["method"].as_str()) {
        (_, Some("initialize")) => {
            vec![json!({"id": line["id"], "error": {"code": -32601, "message": "unknown method"}})]
        }
        (Value::String(_), _) => {
            mind.turns += 1;
            turn()
        }
        _ => Vec::new(),
    }
}

fn turn() -> Vec<Value> {
    let item = |state: &str, item: Value| json!({"type": format!("item.{state}"), "item": item});
    let file = |status: &str| {
        let changes = json!([{"path": "/w/made.txt", "kind": "add"}]);
        json!({"id": "item_0", "type": "file_change", "changes": changes, "status": status})
    };
    let command = |status: &str, code: Value| {
        json!({
            "id": "item_1", "type": "command_execution", "command": "/bin/bash -lc ls",
            "aggregated_output": "made.txt\n", "exit_code": code, "status": status,
        })
    };
    let tool = |status: &str| {
        json!({
            "id": "item_2", "type": "mcp_tool_call", "server": "omx", "tool": "state_read",
            "arguments": {"a": 2}, "result": null, "error": null, "status": status,
        })
    };
    vec![
        json!({"type": "thread.started", "thread_id": "01a1df44-58d4-7310-91d0-ac6d5f4ecbb8"}),
        json!({"type": "turn.started"}),
        item("started", file("in_progress")),
        item("completed", file("completed")),
        item("started", command("in_progress", Value::Null)),
        item("completed", command("completed", json!(0))),
        item("started", tool("in_progress")),
        item("completed", tool("completed")),
        item("completed", json!({"id": "item_3", "type": "agent_message", "text": "done"})),
        json!({"type": "turn.completed", "usage": {
            "input_tokens": 4000, "cached_input_tokens": 10, "output_tokens": 80,
            "reasoning_output_tokens": 0,
        }}),
    ]
}

const UNASKED: &str = r#"
{"type":"thread.started","thread_id":"../../etc"}
{"type":"error","message":"Reconnecting... 1/5 (We’re currently experiencing high demand)"}
{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}
{"type":"turn.failed","error":{"message":"You've hit your usage limit. Try again at 3:45 PM."}}
{"type":"turn.failed"}
{"type":"turn.completed","usage":{"input_tokens":1}}
{"type":"turn.started"}
{"type":"item.updated","item":{"id":"item_9","type":"todo_list","items":[]}}
{"type":"item.completed","item":{"id":"item_9","type":"error","message":"Hooks need review"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","exit_code":-1,"status":"failed"}}
"#;

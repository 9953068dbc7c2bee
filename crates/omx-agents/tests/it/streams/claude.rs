//! Lines of `claude -p` 2.1.197 with stream-json both ways.

use omx_agents::AgentKind;
use serde_json::{Value, json};

use super::row::{ApprovalSupport, DriverRow, ProgramMemory};

pub const ROW: DriverRow = DriverRow {
    kind: AgentKind::Claude,
    approvals: ApprovalSupport::Asks,
    answer,
    unsolicited: UNASKED,
    stderr_lines: &[],
};

const SESSION: &str = "c023e13e-4eb6-45ba-a5d0-0609acfaeec3";

fn answer(mind: &mut ProgramMemory, line: &Value) -> Vec<Value> {
    let own = mind.argument("--session-id").or(mind.argument("--resume"));
    let session = own.unwrap_or(SESSION).to_owned();
    match line["type"].as_str() {
        Some("control_request") => {
            let accepted = json!({"type": "control_response", "response": {
                "subtype": "success", "request_id": line["request_id"],
                "response": {"commands": [], "models": [], "account": {}},
            }});
            match line["request"]["subtype"].as_str() {
                Some("interrupt") => vec![
                    accepted,
                    json!({
                        "type": "result", "subtype": "error_during_execution", "is_error": true,
                        "num_turns": 2, "session_id": session, "total_cost_usd": 0.0275,
                        "usage": {"input_tokens": 0, "output_tokens": 0},
                        "terminal_reason": "aborted_streaming",
                    }),
                ],
                _ => vec![accepted],
            }
        }
        Some("user") => {
            mind.turns += 1;
            turn(&session, line)
        }
        _ => Vec::new(),
    }
}

fn turn(session: &str, said: &Value) -> Vec<Value> {
    let assistant = |id: &str, content: Value| {
        json!({
            "type": "assistant", "session_id": session, "parent_tool_use_id": null, "uuid": id,
            "message": {
                "id": id, "role": "assistant", "model": "claude-opus-4-8", "content": [content],
                "usage": {"input_tokens": 1000, "cache_read_input_tokens": 10, "output_tokens": 1},
            },
        })
    };
    let done = |call: &str| {
        json!({
            "type": "user", "session_id": session, "parent_tool_use_id": null,
            "message": {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call, "content": "ok"},
            ]},
        })
    };
    let mut replayed = said.clone();
    replayed["session_id"] = session.into();
    replayed["isReplay"] = true.into();
    vec![
        json!({
            "type": "system", "subtype": "init", "cwd": "/w", "session_id": session,
            "tools": ["Bash", "Write"], "mcp_servers": [{"name": "omx", "status": "connected"}],
            "model": "claude-opus-4-8[1m]", "permissionMode": "default", "uuid": "u1",
        }),
        json!({"type": "system", "subtype": "status", "status": "requesting", "session_id": session}),
        replayed,
        json!({"type": "stream_event", "session_id": session, "event": {"type": "message_start"}}),
        assistant(
            "m1",
            json!({"type": "tool_use", "id": "toolu_1", "name": "Write",
            "input": {"file_path": "made.txt", "content": "one\n"}}),
        ),
        done("toolu_1"),
        assistant(
            "m2",
            json!({"type": "tool_use", "id": "toolu_2", "name": "Bash",
            "input": {"command": "ls", "description": "look"}}),
        ),
        json!({"type": "control_request", "request_id": "a7421b3e", "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": "toolu_2",
            "input": {"command": "ls", "description": "look"}, "permission_suggestions": [],
        }}),
        done("toolu_2"),
        assistant(
            "m3",
            json!({"type": "tool_use", "id": "toolu_3", "name": "mcp__omx__state_read",
            "input": {"mode": "ralph"}}),
        ),
        done("toolu_3"),
        assistant("m4", json!({"type": "text", "text": "done"})),
        json!({
            "type": "result", "subtype": "success", "is_error": false, "result": "done",
            "num_turns": 4, "session_id": session, "total_cost_usd": 0.022,
            "usage": {"input_tokens": 4000, "cache_read_input_tokens": 10, "output_tokens": 80},
            "structured_output": {"done": true}, "permission_denials": [],
            "terminal_reason": "completed",
        }),
    ]
}

const UNASKED: &str = r#"
{"type":"system","subtype":"init","session_id":"../../etc","model":"x","tools":[]}
{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":500,"error_status":429,"error":"rate_limit","session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"system","subtype":"compact_boundary","session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3","compact_metadata":{"trigger":"auto"}}
{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794750000,"rateLimitType":"five_hour"},"session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"assistant","error":"rate_limit","message":{"role":"assistant","content":[{"type":"text","text":"Claude AI usage limit reached|1794750000"}]},"session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"tool_use","id":"toolu_9","name":"mcp__","input":null}]},"parent_tool_use_id":"toolu_1","session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"user","message":{"role":"user","content":"plain"},"isSynthetic":true,"session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"no"}],"is_error":true}]},"session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"API Error: 429","session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3","total_cost_usd":0.1,"usage":{}}
{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3","total_cost_usd":0.001,"usage":{"input_tokens":1}}
{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"c023e13e-4eb6-45ba-a5d0-0609acfaeec3"}
{"type":"result"}
{"type":"control_response","response":{"subtype":"success","request_id":"nobody"}}
{"type":"control_response","response":{"subtype":"error","request_id":"1","error":"no"}}
{"type":"control_request","request_id":"b","request":{"subtype":"can_use_tool","tool_name":"mcp__tiny__add","input":{"a":2},"tool_use_id":"toolu_3"}}
{"type":"control_request","request_id":"c","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"/etc/passwd"},"tool_use_id":"toolu_4"}}
{"type":"control_request","request_id":"d","request":{"subtype":"hook_callback"}}
{"type":"control_cancel_request","request_id":"a7421b3e"}
{"type":"keep_alive"}
"#;

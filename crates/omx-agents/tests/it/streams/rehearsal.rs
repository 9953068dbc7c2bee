//! Lines of the rehearsal agent.

use omx_agents::AgentKind;
use serde_json::{Value, json};

use super::row::{ApprovalSupport, DriverRow, ProgramMemory};

pub const ROW: DriverRow = DriverRow {
    kind: AgentKind::Rehearsal,
    approvals: ApprovalSupport::Asks,
    answer,
    unsolicited: UNASKED,
    stderr_lines: &[],
};

fn answer(mind: &mut ProgramMemory, line: &Value) -> Vec<Value> {
    let granted = |result: Value| json!({"jsonrpc": "2.0", "id": line["id"], "result": result});
    let reported =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
    match line["method"].as_str() {
        Some("open") => vec![granted(json!({"conversation": "r-1", "model": "rehearsal"}))],
        Some("turn") => {
            mind.turns += 1;
            vec![
                granted(json!({})),
                reported("tool_started", json!({"call": "c1", "tool": {"edit": "made.txt"}})),
                reported("file_changed", json!({"path": "made.txt"})),
                reported("tool_finished", json!({"call": "c1", "end": "succeeded"})),
                json!({"jsonrpc": "2.0", "id": 1, "method": "approve", "params": {"what": "command", "command": "ls"}}),
                reported("tool_started", json!({"call": "c2", "tool": {"command": "ls"}})),
                reported("tool_finished", json!({"call": "c2", "end": {"exited": 0}})),
                reported(
                    "spent",
                    json!({"input": 1000, "cached": 0, "output": 20, "micro_usd": null}),
                ),
                reported("said", json!({"text": "done"})),
                reported("turn_finished", json!({"text": "done", "structured": {"done": true}})),
            ]
        }
        Some("interrupt") => vec![granted(json!({})), reported("turn_interrupted", json!({}))],
        Some(_) if line.get("id").is_some() => vec![granted(json!({}))],
        _ => Vec::new(),
    }
}

const UNASKED: &str = r#"
{"jsonrpc":"2.0","method":"turn_failed","params":{"kind":"rate_limit","until":1794750000000,"detail":"limited"}}
{"jsonrpc":"2.0","method":"turn_failed","params":{"kind":"service","status":500,"detail":"x"}}
{"jsonrpc":"2.0","method":"turn_finished","params":{"text":"done","structured":null}}
{"jsonrpc":"2.0","method":"turn_interrupted","params":{}}
{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no such conversation"}}
{"jsonrpc":"2.0","id":2,"error":{"code":2,"message":"nothing to play"}}
{"jsonrpc":"2.0","id":3,"error":{"code":3,"message":"no turn"}}
{"jsonrpc":"2.0","id":1,"result":{"conversation":"../../etc","model":null}}
{"jsonrpc":"2.0","id":9,"method":"approve","params":{"what":"tool","server":"omx","tool":"state_read"}}
"#;

//! Lines of `codex app-server` 0.166.

use omx_agents::AgentKind;
use omx_agents::agent::AgentCommand;
use omx_agents::event::AgentEvent;
use omx_agents::protocol::AgentExit;
use serde_json::{Value, json};

use super::row::{ApprovalSupport, DriverRow, ProgramMemory};
use super::scene::Scene;

pub const ROW: DriverRow = DriverRow {
    kind: AgentKind::Codex,
    approvals: ApprovalSupport::Asks,
    answer,
    unsolicited: UNASKED,
    stderr_lines: &[],
};

const THREAD: &str = "01a1df44-58d4-7310-91d0-ac6d5f4ecbb8";

fn answer(mind: &mut ProgramMemory, line: &Value) -> Vec<Value> {
    let (Some(method), Some(id)) = (line["method"].as_str(), line.get("id")) else {
        return Vec::new();
    };
    let turn = |mind: &ProgramMemory| format!("turn-{}", mind.turns);
    match method {
        "initialize" => vec![json!({"id": id, "result": {
            "userAgent": "omx/0.166.0", "codexHome": "/home/a/.codex", "platformOs": "linux",
        }})],
        "thread/start" | "thread/resume" => vec![
            json!({"id": id, "result": {
                "thread": {"id": THREAD, "sessionId": THREAD, "status": {"type": "idle"}, "turns": []},
                "model": "gpt-5.5", "modelProvider": "scripted", "approvalPolicy": "never",
            }}),
            json!({"method": "thread/started", "params": {"thread": {"id": THREAD}}}),
        ],
        "turn/start" => {
            mind.turns += 1;
            let mut lines = vec![
                json!({"id": id, "result": {"turn": {"id": turn(mind), "status": "inProgress"}}}),
            ];
            lines.extend(turn_of(&turn(mind)));
            lines
        }
        "turn/steer" => vec![json!({"id": id, "result": {"turnId": turn(mind)}})],
        "turn/interrupt" => {
            vec![json!({"id": id, "result": {}}), over(&turn(mind), "interrupted", Value::Null)]
        }
        _ => vec![json!({"id": id, "result": {}})],
    }
}

fn over(turn: &str, status: &str, error: Value) -> Value {
    let turn =
        json!({"id": turn, "items": [], "status": status, "error": error, "durationMs": 151});
    json!({"method": "turn/completed", "params": {"threadId": THREAD, "turn": turn}})
}

fn item(turn: &str, method: &str, item: Value) -> Value {
    json!({"method": method, "params": {"threadId": THREAD, "turnId": turn, "item": item}})
}

fn turn_of(turn: &str) -> Vec<Value> {
    let changes = json!([{"path": "/w/made.txt", "kind": {"type": "add"}, "diff": "one\n"}]);
    let file = |status: &str| json!({"type": "fileChange", "id": "call_1", "changes": changes, "status": status});
    let command = |status: &str, code: Value| {
        json!({
            "type": "commandExecution", "id": "call_2", "command": "/bin/bash -lc 'ls'",
            "cwd": "/w", "status": status, "exitCode": code, "aggregatedOutput": "made.txt\n",
        })
    };
    let tool = |status: &str| {
        json!({
            "type": "mcpToolCall", "id": "call_3", "server": "omx", "tool": "state_read",
            "status": status, "arguments": {"a": 2}, "result": null, "error": null,
        })
    };
    let message =
        |text: &str| json!({"type": "agentMessage", "id": "msg_4", "text": text, "phase": null});
    let tokens = json!({"totalTokens": 1020, "inputTokens": 1000, "cachedInputTokens": 10, "outputTokens": 20, "reasoningOutputTokens": 0});
    vec![
        json!({"method": "thread/status/changed", "params": {"threadId": THREAD, "status": {"type": "active", "activeFlags": []}}}),
        json!({"method": "turn/started", "params": {"threadId": THREAD, "turn": {"id": turn, "status": "inProgress"}}}),
        item(
            turn,
            "item/started",
            json!({"type": "userMessage", "id": "u", "content": [{"type": "text", "text": "go"}]}),
        ),
        item(turn, "item/started", file("inProgress")),
        json!({"id": 0, "method": "item/fileChange/requestApproval", "params": {
            "threadId": THREAD, "turnId": turn, "itemId": "call_1", "reason": null, "grantRoot": null,
        }}),
        item(turn, "item/completed", file("completed")),
        item(turn, "item/started", command("inProgress", Value::Null)),
        json!({"id": 1, "method": "item/commandExecution/requestApproval", "params": {
            "threadId": THREAD, "turnId": turn, "itemId": "call_2", "kind": "command",
            "command": "/bin/bash -lc 'ls'", "cwd": "/w", "availableDecisions": ["accept", "cancel"],
        }}),
        json!({"method": "serverRequest/resolved", "params": {"threadId": THREAD, "requestId": 1}}),
        item(turn, "item/completed", command("completed", json!(0))),
        item(turn, "item/started", tool("inProgress")),
        item(turn, "item/completed", tool("completed")),
        json!({"method": "thread/tokenUsage/updated", "params": {"threadId": THREAD, "turnId": turn,
            "tokenUsage": {"total": tokens, "last": tokens, "modelContextWindow": 258_400}}}),
        item(turn, "item/started", message("")),
        json!({"method": "item/agentMessage/delta", "params": {"threadId": THREAD, "turnId": turn, "itemId": "msg_4", "delta": "do"}}),
        item(turn, "item/completed", message("done")),
        over(turn, "completed", Value::Null),
    ]
}

const UNASKED: &str = r#"
{"method":"remoteControl/status/changed","params":{"status":"disabled","serverName":"vm","environmentId":null}}
{"method":"mcpServer/startupStatus/updated","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","name":"tiny","status":"starting","error":null}}
{"method":"account/rateLimits/updated","params":{"rateLimits":{"limitId":"codex","primary":{"usedPercent":100,"windowDurationMins":300,"resetsAt":1794750000},"secondary":null,"rateLimitReachedType":"primary"}}}
{"method":"error","params":{"error":{"message":"Reconnecting... 1/1","codexErrorInfo":{"responseStreamDisconnected":{"httpStatusCode":null}},"additionalDetails":"high demand"},"willRetry":true,"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","turnId":"turn-1"}}
{"method":"error","params":{"error":{"message":"usage limit","codexErrorInfo":"usageLimitExceeded"},"willRetry":false,"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","turnId":"turn-1"}}
{"method":"turn/completed","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","turn":{"id":"turn-1","status":"failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests","codexErrorInfo":{"responseTooManyFailedAttempts":{"httpStatusCode":429}}}}}}
{"method":"turn/completed","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","turn":{"id":"turn-1","status":"completed","items":[{"type":"agentMessage","id":"m","text":"done"}]}}}
{"method":"turn/completed","params":{"threadId":"another","turn":{"id":"turn-1","status":"completed"}}}
{"method":"turn/started","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","turn":{"id":"turn-9","status":"inProgress"}}}
{"method":"thread/status/changed","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","status":{"type":"systemError"}}}
{"method":"thread/closed","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8"}}
{"id":2,"method":"mcpServer/elicitation/request","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","turnId":"turn-1","serverName":"tiny","mode":"form","_meta":{"codex_approval_kind":"mcp_tool_call","tool_params":{"a":2}},"message":"Allow the tiny MCP server to run tool \"add\"?","requestedSchema":{"type":"object","properties":{}}}}
{"id":"x","method":"item/tool/requestUserInput","params":{"threadId":"01a1df44-58d4-7310-91d0-ac6d5f4ecbb8","questions":[]}}
{"id":3,"method":"item/permissions/requestApproval","params":{}}
{"id":1,"error":{"code":-32600,"message":"no rollout found for thread id"}}
{"id":1,"result":{}}
{"id":2,"result":{"thread":{"id":"../../etc"}}}
{"id":3,"result":{"turn":{"id":"turn-1","status":"inProgress"}}}
{"id":3,"error":{"code":-32001,"message":"Server overloaded; retry later."}}
{"id":4,"result":{"turnId":"turn-1"}}
{"id":5,"error":{"code":-32600,"message":"no active turn to steer"}}
"#;

fn opened() -> Scene {
    let mut scene = Scene::plain(&ROW);
    scene.receive_all();
    scene
}

fn interruptions(scene: &Scene) -> usize {
    scene.count(|event| *event == AgentEvent::TurnInterrupted)
}

#[test]
fn the_end_of_codexs_own_turn_does_not_end_the_owners() {
    let mut scene = opened();
    let begun = json!({"threadId": THREAD, "turn": {"id": "turn-9", "status": "inProgress"}});
    scene.receive(json!({"method": "turn/started", "params": begun}));
    scene.send("go");
    scene.send_command(AgentCommand::Interrupt);
    assert_eq!(interruptions(&scene), 1, "the message that waited: {:#?}", scene.events);
    scene.receive(over("turn-9", "interrupted", Value::Null));
    scene.receive_all();
    assert_eq!(interruptions(&scene), 1, "{:#?}", scene.events);
    scene.send("go");
    scene.receive_all();
    assert_eq!(scene.count(|event| matches!(event, AgentEvent::TurnFinished(_))), 1);
}

#[test]
fn text_that_may_not_have_reached_codex_is_sent_again() {
    let mut scene = opened();
    scene.send("go");
    scene.receive(json!({"id": 3, "result": {"turn": {"id": "turn-1"}}}));
    scene.send_command(AgentCommand::Steer("this way".to_owned()));
    scene.send_command(AgentCommand::Interrupt);
    scene.receive(over("turn-1", "interrupted", Value::Null));
    scene.exit(AgentExit { code: None, stderr: String::new() });
    assert_eq!(interruptions(&scene), 1, "{:#?}", scene.events);
    scene.receive_all();
    let finished = scene.count(|event| matches!(event, AgentEvent::TurnFinished(_)));
    assert_eq!(finished, 1, "the words are a turn of their own: {:#?}", scene.events);
}

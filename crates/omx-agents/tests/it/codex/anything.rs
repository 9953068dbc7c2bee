//! Arbitrary lines from codex in arbitrary order: nothing panics, no process
//! gets a turn before its thread is open, and none while another turn is running.

use std::time::{Duration, Instant};

use omx_agents::agent::{AgentCommand, ApprovalDecision, MessageLabels};
use omx_agents::event::ApprovalId;
use omx_agents::protocol::{AgentExit, ProtocolEffect, ProtocolEvent};
use omx_agents::{AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::kit::{THREAD, protocol};

const METHODS: &[&str] = &[
    "item/started",
    "item/completed",
    "turn/started",
    "turn/completed",
    "error",
    "thread/tokenUsage/updated",
    "account/rateLimits/updated",
    "serverRequest/resolved",
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "mcpServer/elicitation/request",
    "item/permissions/requestApproval",
    "item/tool/requestUserInput",
    "something/new",
];

/// Names and strings with a meaning in the protocol.
const WORDS: &[&str] = &[
    THREAD,
    "u1",
    "u2",
    "completed",
    "interrupted",
    "failed",
    "declined",
    "agentMessage",
    "commandExecution",
    "command_execution",
    "fileChange",
    "mcpToolCall",
    "mcp_tool_call",
    "usageLimitExceeded",
    "responseStreamDisconnected",
    "bash -lc 'x",
    "try again at 1:00 PM.",
    "thread.started",
    "turn.started",
    "item.completed",
    "turn.completed",
    "turn.failed",
    "Reconnecting... 1/2 (",
    "unexpected status 4",
    "\u{1b}[",
    "/rollout-2026",
    "",
];

const KEYS: &[&str] = &[
    "id",
    "threadId",
    "turnId",
    "turn",
    "item",
    "items",
    "type",
    "status",
    "text",
    "error",
    "message",
    "codexErrorInfo",
    "additionalDetails",
    "willRetry",
    "tokenUsage",
    "total",
    "inputTokens",
    "rateLimits",
    "primary",
    "usedPercent",
    "resetsAt",
    "requestId",
    "command",
    "changes",
    "path",
    "kind",
    "move_path",
    "exitCode",
    "itemId",
    "grantRoot",
    "permissions",
    "questions",
    "question",
    "_meta",
    "thread",
    "thread_id",
    "createdAt",
    "completedAt",
    "usage",
    "params",
    "result",
    "method",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(WORDS).prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let key = proptest::sample::select(KEYS).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..6)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// Params that are mostly about the conversation and its turns.
fn params() -> impl Strategy<Value = Value> {
    let id = proptest::sample::select(&["u1", "u2"][..]);
    let status = proptest::sample::select(&["completed", "interrupted", "failed", "odd"][..]);
    prop_oneof![
        value(),
        (id, status, value()).prop_map(|(id, status, more)| json!({
            "threadId": THREAD, "turnId": id, "turn": {"id": id, "status": status, "error": more},
            "item": more, "tokenUsage": {"total": more}, "error": more, "willRetry": true,
            "command": "ls"
        })),
    ]
}

fn line() -> impl Strategy<Value = Value> {
    let method = proptest::sample::select(METHODS);
    prop_oneof![
        3 => (method.clone(), params()).prop_map(|(method, params)| {
            json!({"method": method, "params": params})
        }),
        1 => (method, 0..4_u64, params()).prop_map(|(method, id, params)| {
            json!({"id": id, "method": method, "params": params})
        }),
        2 => (1..8_u64, value()).prop_map(|(id, result)| json!({"id": id, "result": result})),
        1 => (1..8_u64, value()).prop_map(|(id, error)| json!({"id": id, "error": error})),
        // Lines that open the thread and start turns.
        3 => (1..8_u64, proptest::sample::select(&["u1", "u2"][..])).prop_map(|(id, turn)| {
            json!({"id": id, "result": {"thread": {"id": THREAD}, "turn": {"id": turn}}})
        }),
        1 => value(),
    ]
}

fn any_command() -> impl Strategy<Value = AgentCommand> {
    let message = |schema: Option<Value>| AgentMessage {
        text: "go".to_owned(),
        schema,
        labels: MessageLabels::default(),
    };
    let approval =
        (0..3_u32, 0..4_u64).prop_map(|(process, id)| ApprovalId(format!("{process}-{id}")));
    prop_oneof![
        proptest::option::of(value()).prop_map(move |schema| AgentCommand::Send(message(schema))),
        Just(AgentCommand::Steer("more".to_owned())),
        Just(AgentCommand::Interrupt),
        approval.prop_map(|id| AgentCommand::Answer(id, ApprovalDecision::Deny("no".to_owned()))),
        Just(AgentCommand::End),
    ]
}

#[derive(Debug, Clone)]
enum CodexInput {
    Line(Value),
    Order(AgentCommand),
    Exited,
    Later,
}

fn step() -> impl Strategy<Value = CodexInput> {
    prop_oneof![
        8 => line().prop_map(CodexInput::Line),
        4 => any_command().prop_map(CodexInput::Order),
        1 => Just(CodexInput::Exited),
        1 => Just(CodexInput::Later),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn nothing_codex_says_breaks_the_protocol(steps in proptest::collection::vec(step(), 0..60)) {
        let mut now = Instant::now();
        let mut protocol = protocol(ConversationStart::New, AllowLevel::Edits);
        let (mut is_open, mut begun) = (false, 0_i32);
        let mut effects = protocol.start(now);
        for step in steps {
            for effect in effects.drain(..) {
                match effect {
                    ProtocolEffect::Launch(_) => is_open = false,
                    ProtocolEffect::Emit(AgentEvent::Started { .. }) => is_open = true,
                    ProtocolEffect::Emit(
                        AgentEvent::TurnFinished(_) | AgentEvent::TurnInterrupted | AgentEvent::TurnFailed(_),
                    ) => begun = 0,
                    ProtocolEffect::Write(line) if line["method"] == "turn/start" => {
                        begun += 1;
                        prop_assert!(is_open && begun == 1, "{line}");
                    }
                    _ => {}
                }
            }
            effects = match step {
                CodexInput::Line(line) => protocol.handle(ProtocolEvent::Line(line), now),
                CodexInput::Order(command) => protocol.handle(ProtocolEvent::Command(command), now),
                CodexInput::Exited => {
                    let exit = AgentExit { code: Some(1), stderr: "gone".to_owned() };
                    protocol.handle(ProtocolEvent::Exited(exit), now)
                }
                CodexInput::Later => {
                    now += Duration::from_secs(7);
                    protocol.handle(ProtocolEvent::Tick, now)
                }
            };
        }
    }
}

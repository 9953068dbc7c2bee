//! Arbitrary lines and commands in arbitrary order.

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{ApprovalId, Delivery};
use omx_agents::protocol::{ProtocolEffect, ProtocolEvent};
use omx_agents::{AgentCommand, AgentEvent, AgentMessage};
use proptest::prelude::*;
use serde_json::Value;

use super::GeminiHarness;

/// Arbitrary JSON, biased toward the strings of the protocol.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "session/update",
        "session/request_permission",
        "agent_message_chunk",
        "tool_call",
        "tool_call_update",
        "available_commands_update",
        "end_turn",
        "cancelled",
        "execute",
        "edit",
        "completed",
        "allow_once",
        "mcp_omx_x__1",
        "[in ",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..6_u64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "id",
        "method",
        "params",
        "result",
        "error",
        "code",
        "message",
        "data",
        "update",
        "sessionUpdate",
        "content",
        "text",
        "toolCallId",
        "toolCall",
        "kind",
        "title",
        "status",
        "options",
        "optionId",
        "locations",
        "path",
        "stopReason",
        "_meta",
        "quota",
        "token_count",
        "input_tokens",
        "modes",
        "currentModeId",
        "sessionId",
        "protocolVersion",
    ]);
    leaf.prop_recursive(5, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(key.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

fn any_order() -> impl Strategy<Value = AgentCommand> {
    let approval = (0..6_u64).prop_map(|id| ApprovalId(id.to_string()));
    prop_oneof![
        ".*".prop_map(|text| AgentCommand::Send(AgentMessage::text(text))),
        ".*".prop_map(AgentCommand::Steer),
        Just(AgentCommand::Interrupt),
        approval.prop_map(|id| AgentCommand::Answer(id, ApprovalDecision::Allow)),
    ]
}

#[derive(Clone, Debug)]
enum GeminiInput {
    Line(Value),
    Order(AgentCommand),
    Overheard(String),
    Wait,
}

fn any_step() -> impl Strategy<Value = GeminiInput> {
    prop_oneof![
        6 => any_json().prop_map(GeminiInput::Line),
        2 => any_order().prop_map(GeminiInput::Order),
        1 => "\\PC{0,40}".prop_map(GeminiInput::Overheard),
        1 => "Attempt [0-9]{1,12} failed(:| with status [0-9]{1,6}\\.)? .{0,20}Retrying (with backoff|after [0-9]{1,22}ms)\\.\\.\\..{0,20}"
            .prop_map(GeminiInput::Overheard),
        1 => Just(GeminiInput::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    /// No line makes the protocol panic, and a started turn ends exactly once.
    #[test]
    fn any_line_is_survived(steps in prop::collection::vec(any_step(), 0..30)) {
        let mut stage = GeminiHarness::busy();
        let mut running = true;
        for step in steps {
            let effects = match step {
                GeminiInput::Line(line) => stage.line(line),
                GeminiInput::Order(command) => stage.send_command(command),
                GeminiInput::Overheard(line) => stage.receive_stderr(&line),
                GeminiInput::Wait if stage.protocol.next_tick().is_none() => continue,
                GeminiInput::Wait => {
                    stage.wait();
                    stage.handle(ProtocolEvent::Tick)
                }
            };
            for effect in &effects {
                match effect {
                    ProtocolEffect::Emit(AgentEvent::Delivered(Delivery::Turn)) => {
                        prop_assert!(!running);
                        running = true;
                    }
                    ProtocolEffect::Emit(
                        AgentEvent::TurnFinished(_) | AgentEvent::TurnFailed(_) | AgentEvent::TurnInterrupted,
                    ) => running = false,
                    ProtocolEffect::Emit(AgentEvent::Text(_) | AgentEvent::ToolStarted { .. }) => {
                        prop_assert!(running);
                    }
                    ProtocolEffect::Emit(AgentEvent::Started { .. }) => prop_assert!(false, "opened twice"),
                    _ => {}
                }
            }
            if effects.iter().any(|effect| matches!(effect, ProtocolEffect::Fail(_))) {
                break;
            }
        }
    }
}

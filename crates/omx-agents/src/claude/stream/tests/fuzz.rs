//! The machine on lines no claude writes.

use proptest::prelude::*;

use super::*;

/// Any JSON, often with claude's own words in it.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "subtype",
        "message",
        "content",
        "system",
        "init",
        "assistant",
        "user",
        "result",
        "success",
        "text",
        "tool_use",
        "tool_result",
        "id",
        "c",
        "tool_use_id",
        "name",
        "Bash",
        "Write",
        "input",
        "command",
        "file_path",
        "uuid",
        "isReplay",
        "error",
        "rate_limit",
        "request",
        "request_id",
        "request-1",
        "control_request",
        "control_response",
        "response",
        "can_use_tool",
        "control_cancel_request",
        "modelUsage",
        "usage",
        "total_cost_usd",
        "api_retry",
        "rate_limit_event",
        "rate_limit_info",
        "resetsAt",
        "rejected",
        "status",
        "terminal_reason",
        "aborted_tools",
        "errors",
        "questions",
        "is_error",
        "cancelled",
    ]);
    let leaf = prop_oneof![
        word.clone().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let fields = prop::collection::hash_map(word.clone(), inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| fields.into_iter().collect::<Value>()),
        ]
    })
}

/// A line of claude's whose fields may be anything.
fn any_line() -> impl Strategy<Value = Value> {
    let kinds = ["system", "assistant", "user", "result", "control_request", "control_response"];
    let kind = prop::sample::select(kinds.to_vec());
    (kind, any_json(), any_json()).prop_map(|(kind, message, other)| {
        json!({"type": kind, "subtype": "init", "message": message, "request": other,
            "request_id": "a", "response": other, "uuid": "c", "errors": other})
    })
}

fn any_input() -> impl Strategy<Value = ProtocolEvent> {
    let orders = prop::sample::select(vec![
        AgentCommand::Send(AgentMessage::text("a")),
        AgentCommand::Send(AgentMessage { schema: Some(json!({})), ..AgentMessage::text("b") }),
        AgentCommand::Steer("c".to_owned()),
        AgentCommand::Interrupt,
        AgentCommand::Answer(ApprovalId("a".to_owned()), ApprovalDecision::Allow),
        AgentCommand::End,
    ]);
    let exit = AgentExit { code: None, stderr: "x".to_owned() };
    prop_oneof![
        4 => any_line().prop_map(ProtocolEvent::Line),
        4 => any_json().prop_map(ProtocolEvent::Line),
        3 => orders.prop_map(ProtocolEvent::Command),
        1 => Just(ProtocolEvent::Tick),
        1 => Just(ProtocolEvent::Line(result("done"))),
        1 => Just(ProtocolEvent::Line(aborted())),
        1 => Just(ProtocolEvent::Exited(exit)),
    ]
}

proptest! {
    /// Whatever comes, in whatever order: no panic, and no turn ends that
    /// nobody was told of or ordered.
    #[test]
    fn no_line_brings_it_down(inputs in prop::collection::vec(any_input(), 0..60)) {
        let mut play = Play::open();
        let mut open = 0_usize;
        for input in inputs {
            let ordered = matches!(input, ProtocolEvent::Command(AgentCommand::Send(_) | AgentCommand::Steer(_)));
            open += usize::from(ordered);
            for event in reported_texts(&play.stream.handle(input, play.now)) {
                let ends = ["finished", "failed", "interrupted"];
                if ends.iter().any(|end| event.starts_with(end)) {
                    prop_assert!(open > 0, "{event}");
                    open -= 1;
                }
            }
        }
    }
}

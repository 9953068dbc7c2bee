//! Turns: approvals, interrupts, retries, ends.

use omx_agents::agent::Decision;
use omx_agents::event::{ApprovalId, Ask, Delivery, Tool, ToolEnd};
use omx_agents::protocol::{Exit, Input};
use omx_agents::trouble::Cause;
use omx_agents::{Event, Message, Order};
use omx_kernel::approval::Reach;
use serde_json::{Value, json};

use super::{ID, Stage, events, failed, methods, written};

/// A request for permission as gemini makes it.
fn permission(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
        "sessionId": ID,
        "options": [
            {"optionId": "proceed_always", "name": "Allow for this session", "kind": "allow_always"},
            {"optionId": "proceed_once", "name": "Allow", "kind": "allow_once"},
            {"optionId": "cancel", "name": "Reject", "kind": "reject_once"}],
        "toolCall": {"toolCallId": "run_shell_command__fc_2", "status": "pending",
            "title": "rm -r build", "locations": [], "kind": "execute",
            "content": [{"type": "content", "content": {"type": "text", "text": "[in ../x] (why)"}}]}
    }})
}

#[test]
fn an_approval_is_answered_with_an_option_for_once() {
    for (decision, option) in
        [(Decision::Allow, "proceed_once"), (Decision::Deny("no".to_owned()), "cancel")]
    {
        let mut stage = Stage::busy();
        let told = events(&stage.line(permission(7)));
        let ask = Ask::Command { command: "rm -r build".to_owned(), reach: Reach::Outside };
        let approval = ApprovalId("7".to_owned());
        assert_eq!(told, [Event::ApprovalNeeded { approval: approval.clone(), ask }]);
        let effects = stage.order(Order::Answer(approval.clone(), decision.clone()));
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        let line = json!({"jsonrpc": "2.0", "id": 7, "result": outcome});
        assert_eq!(written(&effects).collect::<Vec<_>>(), [&line]);
        let told = events(&effects);
        let command = Tool::Command("rm -r build".to_owned());
        assert!(matches!(&told[0], Event::ToolStarted { tool, .. } if *tool == command));
        let refused = matches!(told.last(), Some(Event::ToolFinished { end: ToolEnd::Failed, .. }));
        assert_eq!(refused, decision != Decision::Allow, "{told:?}");
        // A second answer has nothing to answer.
        assert_eq!(stage.order(Order::Answer(approval, decision)), []);
    }
}

#[test]
fn an_interrupt_withdraws_what_waits_for_an_answer() {
    let mut stage = Stage::busy();
    stage.line(permission(7));
    let effects = stage.order(Order::Interrupt);
    let cancelled = json!({"jsonrpc": "2.0", "id": 7,
        "result": {"outcome": {"outcome": "cancelled"}}});
    let lines: Vec<_> = written(&effects).collect();
    assert_eq!((&lines[0]["method"], lines[1]), (&json!("session/cancel"), &cancelled));
    assert_eq!(events(&effects), []);
    // One that comes too late is withdrawn at once, and so is an order.
    assert_eq!(written(&stage.line(permission(7))).collect::<Vec<_>>(), [&cancelled]);
    assert_eq!(stage.order(Order::Interrupt), []);
    let told = events(&stage.answer(json!({"stopReason": "cancelled"})));
    assert_eq!(told, [Event::TurnInterrupted]);
}

#[test]
fn a_turn_that_ends_by_itself_is_not_called_interrupted() {
    let mut stage = Stage::busy();
    let told = events(&stage.answer(json!({"stopReason": "cancelled"})));
    assert!(matches!(&told[..], [Event::TurnFailed(trouble)] if trouble.kind() == "cut_off"));
    let mut stage = Stage::busy();
    let told = events(&stage.answer(json!({"stopReason": "max_tokens"})));
    assert!(matches!(&told[..], [Event::TurnFailed(trouble)] if trouble.kind() == "rejected"));
}

#[test]
fn what_gemini_wants_of_a_client_is_refused() {
    let mut stage = Stage::busy();
    for method in ["fs/read_text_file", "terminal/create", "anything"] {
        let effects = stage.line(json!({"id": 3, "method": method, "params": {}}));
        let line = written(&effects).next().unwrap();
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(3), &json!(-32601)));
    }
}

/// The turn is over at once; gemini may take its time to see it.
#[test]
fn after_giving_up_the_next_message_waits_for_gemini() {
    let mut stage = Stage::busy();
    let line = |attempt| {
        format!("Attempt {attempt} failed with status 500. Retrying with backoff... E: x")
    };
    for attempt in [1, 2] {
        assert!(matches!(events(&stage.overhear(&line(attempt)))[..], [Event::Retrying(_)]));
    }
    let effects = stage.overhear(&line(3));
    assert_eq!(methods(&effects), ["session/cancel"]);
    assert!(matches!(events(&effects)[..], [Event::Retrying(_), Event::TurnFailed(_)]));
    assert_eq!(stage.order(Order::Send(Message::text("next"))), []);
    let effects = stage.answer(json!({"stopReason": "cancelled"}));
    assert_eq!(methods(&effects), ["session/prompt"]);
    assert_eq!(events(&effects), [Event::Delivered(Delivery::Turn)]);
    // And if gemini never sees it, the conversation ends.
    stage.overhear(&line(3));
    let waited = stage.wait();
    let cause = failed(&stage.give(Input::Tick));
    assert_eq!(cause, Cause::Silent { waited, during: "giving up a request" });
}

#[test]
fn the_end_of_gemini_has_a_cause() {
    let end = |code, stderr: &str| {
        let exit = Exit { code, stderr: stderr.to_owned() };
        failed(&Stage::busy().give(Input::Exited(exit)))
    };
    assert!(matches!(end(Some(41), "no key"), Cause::NotLoggedIn { .. }));
    assert_eq!(end(Some(55), ""), Cause::FolderNotTrusted);
    let log = "[2026-11-15T12:43:01.996Z] [DEBUG] all that was said\nout of memory";
    let stderr = "out of memory".to_owned();
    assert_eq!(end(None, log), Cause::Crashed { code: None, stderr });
}

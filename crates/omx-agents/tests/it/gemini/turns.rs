//! Turns: approvals, interrupts, retries and ends.

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::{ApprovalId, ApprovalRequest, Delivery, ToolAction, ToolOutcome};
use omx_agents::failure::FailureCause;
use omx_agents::protocol::{AgentExit, ProtocolEvent};
use omx_agents::{AgentCommand, AgentEvent, AgentMessage};
use omx_kernel::approval::TargetLocation;
use serde_json::{Value, json};

use super::{GeminiHarness, ID, events, failed, methods, written};

/// A permission request as gemini sends it.
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
fn an_approval_selects_a_one_time_option() {
    for (decision, option) in [
        (ApprovalDecision::Allow, "proceed_once"),
        (ApprovalDecision::Deny("no".to_owned()), "cancel"),
    ] {
        let mut stage = GeminiHarness::busy();
        let reported = events(&stage.line(permission(7)));
        let ask = ApprovalRequest::Command {
            command: "rm -r build".to_owned(),
            location: TargetLocation::Outside,
        };
        let approval = ApprovalId("7".to_owned());
        assert_eq!(reported, [AgentEvent::ApprovalNeeded { approval: approval.clone(), ask }]);
        let effects = stage.send_command(AgentCommand::Answer(approval.clone(), decision.clone()));
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": option}});
        let line = json!({"jsonrpc": "2.0", "id": 7, "result": outcome});
        assert_eq!(written(&effects).collect::<Vec<_>>(), [&line]);
        let reported = events(&effects);
        let command = ToolAction::Command("rm -r build".to_owned());
        assert!(matches!(&reported[0], AgentEvent::ToolStarted { tool, .. } if *tool == command));
        let refused = matches!(
            reported.last(),
            Some(AgentEvent::ToolFinished { end: ToolOutcome::Failed, .. })
        );
        assert_eq!(refused, decision != ApprovalDecision::Allow, "{reported:?}");
        // A second answer has no effect.
        assert_eq!(stage.send_command(AgentCommand::Answer(approval, decision)), []);
    }
}

#[test]
fn an_interrupt_cancels_pending_permissions() {
    let mut stage = GeminiHarness::busy();
    stage.line(permission(7));
    let effects = stage.send_command(AgentCommand::Interrupt);
    let cancelled = json!({"jsonrpc": "2.0", "id": 7,
        "result": {"outcome": {"outcome": "cancelled"}}});
    let lines: Vec<_> = written(&effects).collect();
    assert_eq!((&lines[0]["method"], lines[1]), (&json!("session/cancel"), &cancelled));
    assert_eq!(events(&effects), []);
    // A late request is cancelled at once, and a late answer is ignored.
    assert_eq!(written(&stage.line(permission(7))).collect::<Vec<_>>(), [&cancelled]);
    assert_eq!(stage.send_command(AgentCommand::Interrupt), []);
    let reported = events(&stage.answer(json!({"stopReason": "cancelled"})));
    assert_eq!(reported, [AgentEvent::TurnInterrupted]);
}

#[test]
fn a_turn_that_gemini_cancels_is_not_interrupted() {
    let mut stage = GeminiHarness::busy();
    let reported = events(&stage.answer(json!({"stopReason": "cancelled"})));
    assert!(
        matches!(&reported[..], [AgentEvent::TurnFailed(failure)] if failure.kind() == "cut_off")
    );
    let mut stage = GeminiHarness::busy();
    let reported = events(&stage.answer(json!({"stopReason": "max_tokens"})));
    assert!(
        matches!(&reported[..], [AgentEvent::TurnFailed(failure)] if failure.kind() == "rejected")
    );
}

#[test]
fn client_requests_of_gemini_are_rejected() {
    let mut stage = GeminiHarness::busy();
    for method in ["fs/read_text_file", "terminal/create", "anything"] {
        let effects = stage.line(json!({"id": 3, "method": method, "params": {}}));
        let line = written(&effects).next().unwrap();
        assert_eq!((&line["id"], &line["error"]["code"]), (&json!(3), &json!(-32601)));
    }
}

/// The turn ends at once for the owner; gemini may take longer to notice.
#[test]
fn after_an_abandoned_turn_the_next_message_waits() {
    let mut stage = GeminiHarness::busy();
    let line = |attempt| {
        format!("Attempt {attempt} failed with status 500. Retrying with backoff... E: x")
    };
    for attempt in [1, 2] {
        assert!(matches!(
            events(&stage.receive_stderr(&line(attempt)))[..],
            [AgentEvent::Retrying(_)]
        ));
    }
    let effects = stage.receive_stderr(&line(3));
    assert_eq!(methods(&effects), ["session/cancel"]);
    assert!(matches!(events(&effects)[..], [AgentEvent::Retrying(_), AgentEvent::TurnFailed(_)]));
    assert_eq!(stage.send_command(AgentCommand::Send(AgentMessage::text("next"))), []);
    let effects = stage.answer(json!({"stopReason": "cancelled"}));
    assert_eq!(methods(&effects), ["session/prompt"]);
    assert_eq!(events(&effects), [AgentEvent::Delivered(Delivery::Turn)]);
    // If gemini never notices, the conversation fails.
    stage.receive_stderr(&line(3));
    let waited = stage.wait();
    let cause = failed(&stage.handle(ProtocolEvent::Tick));
    assert_eq!(cause, FailureCause::Silent { waited, during: "cancelling a request" });
}

#[test]
fn an_unexpected_exit_has_a_cause() {
    let end = |code, stderr: &str| {
        let exit = AgentExit { code, stderr: stderr.to_owned() };
        failed(&GeminiHarness::busy().handle(ProtocolEvent::Exited(exit)))
    };
    assert!(matches!(end(Some(41), "no key"), FailureCause::NotLoggedIn { .. }));
    assert_eq!(end(Some(55), ""), FailureCause::FolderNotTrusted);
    let log = "[2026-11-15T12:43:01.996Z] [DEBUG] all that was said\nout of memory";
    let stderr = "out of memory".to_owned();
    assert_eq!(end(None, log), FailureCause::Crashed { code: None, stderr });
}

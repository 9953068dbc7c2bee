//! Codex's protocol line by line, for what a real codex cannot be made to do at
//! the right moment. The lines are those of version 0.166.0.

mod anything;
mod kit;

use omx_agents::agent::{AgentCommand, ApprovalDecision};
use omx_agents::event::{
    ApprovalId, ApprovalRequest, Delivery, TargetLocation, ToolAction, TurnAnswer, UsageDelta,
};
use omx_agents::protocol::ProtocolEffect;
use omx_agents::{AgentEvent, AgentMessage};
use omx_kernel::approval::AllowLevel;
use serde_json::{Value, json};

use kit::{CodexEffect, CodexHarness, THREAD};

fn send(words: &str) -> AgentCommand {
    AgentCommand::Send(AgentMessage::text(words))
}

fn delivered() -> CodexEffect {
    CodexEffect::Event(AgentEvent::Delivered(Delivery::Turn))
}

fn queued() -> CodexEffect {
    CodexEffect::Event(AgentEvent::Delivered(Delivery::Queued))
}

fn finished(text: &str) -> CodexEffect {
    CodexEffect::Event(AgentEvent::TurnFinished(TurnAnswer {
        text: text.to_owned(),
        structured: None,
    }))
}

fn input(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}

#[test]
fn a_thread_is_opened_with_its_permissions() {
    for (allow, policy, sandbox) in [
        (AllowLevel::Edits, "untrusted", "workspace-write"),
        (AllowLevel::Commands, "on-request", "workspace-write"),
        (AllowLevel::All, "never", "danger-full-access"),
    ] {
        let mut talk = CodexHarness::new(allow);
        let launch = talk.launched();
        let args: Vec<_> = launch.args.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args, ["app-server", "-c", "features.unbounded_connection_retries=false"]);
        assert_eq!(talk.request("initialize")["clientInfo"]["name"], "omx");
        talk.answer(json!({}));
        assert_eq!(talk.notified(), "initialized");
        let params = talk.request("thread/start");
        assert_eq!(
            (&params["approvalPolicy"], &params["sandbox"]),
            (&policy.into(), &sandbox.into())
        );
        talk.nothing_more();
    }
}

/// An early message starts as soon as the thread is open; a second one waits.
#[test]
fn early_messages_are_not_lost() {
    let mut talk = CodexHarness::new(AllowLevel::Commands);
    talk.launched();
    talk.request("initialize");
    talk.send_command(send("one"));
    talk.send_command(send("two"));
    assert_eq!(talk.take(), queued());
    talk.welcome();
    assert_eq!(talk.request("turn/start")["input"], input("one"));
    talk.nothing_more();
}

#[test]
fn text_and_interrupts_wait_until_the_turn_is_running() {
    let mut talk = CodexHarness::opened();
    talk.send_command(send("go"));
    talk.request("turn/start");
    talk.send_command(AgentCommand::Steer("left".to_owned()));
    talk.answer(json!({"turn": {"id": "u1"}}));
    assert_eq!(talk.take(), delivered());
    talk.send_command(AgentCommand::Steer("right".to_owned()));
    talk.nothing_more();
    talk.turn_started("u1");
    for words in ["left", "right"] {
        let params = json!({"threadId": THREAD, "expectedTurnId": "u1", "input": input(words)});
        assert_eq!(talk.request("turn/steer"), params);
    }
    talk.answer_to("left", Ok(json!({"turnId": "u1"})));
    assert_eq!(talk.take(), CodexEffect::Event(AgentEvent::Delivered(Delivery::Steered)));

    let mut talk = CodexHarness::opened();
    talk.send_command(send("go"));
    talk.request("turn/start");
    talk.send_command(AgentCommand::Interrupt);
    talk.answer(json!({"turn": {"id": "u1"}}));
    assert_eq!(talk.take(), delivered());
    talk.nothing_more();
    talk.turn_started("u1");
    assert_eq!(talk.request("turn/interrupt"), json!({"threadId": THREAD, "turnId": "u1"}));
}

#[test]
fn late_text_starts_the_next_turn() {
    let mut talk = CodexHarness::running("u1");
    talk.send_command(AgentCommand::Steer("more".to_owned()));
    talk.request("turn/steer");
    talk.turn_completed("u1", "completed", "done");
    assert_eq!(talk.take(), finished("done"));
    talk.refuse("no active turn to steer");
    assert_eq!(talk.request("turn/start")["input"], input("more"));

    let mut talk = CodexHarness::running("u1");
    talk.send_command(AgentCommand::Steer("more".to_owned()));
    talk.request("turn/steer");
    talk.refuse("this turn cannot be steered");
    assert_eq!(talk.take(), queued());
    talk.turn_completed("u1", "completed", "done");
    assert_eq!(talk.take(), finished("done"));
    assert_eq!(talk.request("turn/start")["input"], input("more"));
}

/// The process of the interrupted turn is terminated, and the thread resumed
/// before anything else is sent.
#[test]
fn an_interrupt_restarts_codex() {
    let mut talk = CodexHarness::running("u1");
    talk.send_command(AgentCommand::Interrupt);
    talk.request("turn/interrupt");
    talk.answer(json!({}));
    talk.send_command(send("next"));
    assert_eq!(talk.take(), queued());
    talk.turn_completed("u1", "interrupted", "");
    assert_eq!(talk.take(), CodexEffect::Stop);
    talk.receive_notification(
        "item/completed",
        json!({"item": {"type": "agentMessage", "text": "late"}}),
    );
    talk.nothing_more();
    talk.exited(Some(0), "");
    assert_eq!(talk.take(), CodexEffect::Event(AgentEvent::TurnInterrupted));
    talk.launched();
    talk.request("initialize");
    talk.answer(json!({}));
    assert_eq!(talk.notified(), "initialized");
    assert_eq!(talk.request("thread/resume")["threadId"], THREAD);
    talk.answer(json!({"thread": {"id": THREAD}}));
    // Emitted after each launch; the loop passes only the first one on.
    assert!(matches!(talk.take(), CodexEffect::Event(AgentEvent::Started { .. })));
    assert_eq!(talk.request("turn/start")["input"], input("next"));
    talk.nothing_more();
}

#[test]
fn a_failed_restart_is_reported() {
    let mut talk = CodexHarness::running("u1");
    talk.send_command(AgentCommand::Interrupt);
    talk.turn_completed("u1", "interrupted", "");
    talk.exited(Some(0), "");
    talk.drain();
    talk.exited(Some(1), "\u{1b}[31mno\u{1b}[0m luck");
    assert_eq!(talk.failed(), "crashed");
}

/// The turn finished before the interrupt reached it.
#[test]
fn a_turn_faster_than_its_interrupt_finishes() {
    let mut talk = CodexHarness::running("u1");
    talk.send_command(AgentCommand::Interrupt);
    talk.request("turn/interrupt");
    talk.turn_completed("u1", "completed", "done");
    assert_eq!(talk.take(), finished("done"));
    talk.refuse("no active turn to interrupt");
    talk.nothing_more();
}

/// Codex pursues its own goal: nobody waits for the end of that turn.
#[test]
fn a_turn_started_by_codex_is_not_an_answer() {
    let mut talk = CodexHarness::opened();
    talk.turn_started("own");
    talk.send_command(send("go"));
    assert_eq!(talk.take(), queued());
    talk.turn_completed("own", "completed", "went on");
    assert_eq!(talk.request("turn/start")["input"], input("go"));
    talk.nothing_more();
}

#[test]
fn a_turn_that_codex_interrupts_fails() {
    let mut talk = CodexHarness::running("u1");
    talk.turn_completed("u1", "interrupted", "");
    let CodexEffect::Event(AgentEvent::TurnFailed(failure)) = talk.take() else {
        panic!("not failed")
    };
    assert_eq!(failure.kind(), "rejected");
    talk.nothing_more();
}

#[test]
fn a_rejected_message_fails_and_the_next_one_starts() {
    let mut talk = CodexHarness::opened();
    talk.send_command(send("one"));
    talk.request("turn/start");
    talk.send_command(send("two"));
    assert_eq!(talk.take(), queued());
    talk.refuse("thread not found");
    let CodexEffect::Event(AgentEvent::TurnFailed(failure)) = talk.take() else {
        panic!("not failed")
    };
    assert_eq!(failure.kind(), "rejected");
    assert_eq!(talk.request("turn/start")["input"], input("two"));
}

/// The end of a turn may arrive before the response to its request.
#[test]
fn a_turn_can_end_before_its_response() {
    let mut talk = CodexHarness::opened();
    talk.send_command(send("go"));
    talk.request("turn/start");
    talk.turn_completed("u1", "completed", "done");
    assert_eq!(talk.take(), delivered());
    assert_eq!(talk.take(), finished("done"));
    talk.answer(json!({"turn": {"id": "u1"}}));
    talk.nothing_more();
}

/// A subagent's tool calls count; its text is not the agent's.
#[test]
fn subagents_count_but_do_not_speak() {
    let mut talk = CodexHarness::running("u1");
    let of_helper = |params: Value| {
        let mut params = params;
        params["threadId"] = "helper".into();
        params
    };
    let words = json!({"item": {"type": "agentMessage", "id": "m", "text": "psst"}});
    talk.receive_raw_notification("item/completed", of_helper(words));
    talk.receive_raw_notification(
        "turn/completed",
        of_helper(json!({"turn": {"id": "u1", "status": "completed"}})),
    );
    talk.nothing_more();
    let spent =
        json!({"turnId": "h1", "tokenUsage": {"total": {"inputTokens": 5, "outputTokens": 2}}});
    talk.receive_raw_notification("thread/tokenUsage/updated", of_helper(spent));
    let usage = UsageDelta { input_tokens: 5, output_tokens: 2, ..UsageDelta::default() };
    assert_eq!(talk.take(), CodexEffect::Event(AgentEvent::Usage(usage)));
    let command = json!({"item": {"type": "commandExecution", "id": "c", "command": "ls"}});
    talk.receive_raw_notification("item/started", of_helper(command));
    let CodexEffect::Event(AgentEvent::ToolStarted { tool, .. }) = talk.take() else {
        panic!("no tool")
    };
    assert_eq!(tool, ToolAction::Command("ls".to_owned()));
    let ask = json!({"threadId": "helper", "itemId": "c", "command": "ls"});
    talk.receive_request(7, "item/commandExecution/requestApproval", ask);
    let approval = ApprovalId("1-7".to_owned());
    let ask =
        ApprovalRequest::Command { command: "ls".to_owned(), location: TargetLocation::Outside };
    let needed = AgentEvent::ApprovalNeeded { approval: approval.clone(), ask };
    assert_eq!(talk.take(), CodexEffect::Event(needed));
    // The reason would go to the wrong turn.
    talk.send_command(AgentCommand::Answer(approval, ApprovalDecision::Deny("no".to_owned())));
    assert_eq!(talk.written(), json!({"id": 7, "result": {"decision": "decline"}}));
    talk.nothing_more();
}

#[test]
fn unknown_requests_are_rejected_at_once() {
    let mut talk = CodexHarness::running("u1");
    for method in ["item/tool/call", "attestation/generate", "something/new"] {
        talk.receive_request(3, method, json!({"threadId": THREAD}));
        let answer = talk.written();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32601)));
    }
    talk.receive_notification("something/new", json!({}));
    talk.nothing_more();
}

#[test]
fn a_timeout_names_its_request() {
    let mut talk = CodexHarness::new(AllowLevel::Commands);
    talk.wait();
    assert_eq!(talk.failed(), "silent");
    let mut talk = CodexHarness::opened();
    talk.wait();
    talk.nothing_more();
    talk.send_command(send("go"));
    talk.request("turn/start");
    talk.wait();
    assert_eq!(talk.failure(), "codex did not respond for 30 s while taking a message");
}

/// Without an app-server, each process reports that it is open.
#[test]
fn each_exec_process_resumes_the_thread() {
    let mut talk = CodexHarness::new(AllowLevel::Commands);
    talk.drain();
    talk.exited(Some(2), "unknown command");
    assert_eq!(talk.take(), CodexEffect::Event(AgentEvent::Listening));
    talk.nothing_more();
    for (words, resumes) in [("one", false), ("two", true)] {
        talk.send_command(send(words));
        let args = talk.launched().args;
        assert_eq!(args.contains(&"resume".into()), resumes, "{args:?}");
        assert_eq!(talk.take(), CodexEffect::Other(ProtocolEffect::WriteText(words.to_owned())));
        assert_eq!(talk.take(), CodexEffect::Other(ProtocolEffect::CloseInput));
        talk.receive_line(json!({"type": "thread.started", "thread_id": THREAD}));
        assert!(matches!(talk.take(), CodexEffect::Event(AgentEvent::Started { .. })));
        talk.receive_line(json!({"type": "turn.started"}));
        assert_eq!(talk.take(), delivered());
        talk.receive_line(json!({"type": "turn.completed", "usage": {}}));
        assert_eq!(talk.take(), finished(""));
        talk.exited(Some(0), "");
        talk.nothing_more();
    }
}

/// An app-server that fails at start is tried once more.
#[test]
fn an_app_server_that_fails_at_start_is_retried() {
    let mut talk = CodexHarness::new(AllowLevel::Commands);
    talk.drain();
    talk.exited(Some(1), "the database is locked");
    assert!(talk.launched().args.contains(&"app-server".into()));
    talk.request("initialize");
    talk.exited(Some(1), "the database is locked");
    assert_eq!(talk.take(), CodexEffect::Event(AgentEvent::Listening));
    talk.nothing_more();
}

#[test]
fn opening_another_thread_is_an_error() {
    for answer in [json!({"thread": {"id": "other"}}), json!({}), json!({"thread": {"id": "../x"}})]
    {
        let mut talk = CodexHarness::resumed(THREAD);
        talk.drain();
        talk.answer(json!({}));
        talk.drain();
        talk.answer(answer);
        assert_eq!(talk.failed(), "protocol");
    }
}

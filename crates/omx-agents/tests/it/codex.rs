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
        let mut codex = CodexHarness::new(allow);
        let launch = codex.launched();
        let args: Vec<_> = launch.args.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args, ["app-server", "-c", "features.unbounded_connection_retries=false"]);
        assert_eq!(codex.request("initialize")["clientInfo"]["name"], "omx");
        codex.answer(json!({}));
        assert_eq!(codex.notified(), "initialized");
        let params = codex.request("thread/start");
        assert_eq!(
            (&params["approvalPolicy"], &params["sandbox"]),
            (&policy.into(), &sandbox.into())
        );
        codex.nothing_more();
    }
}

/// An early message starts as soon as the thread is open; a second one waits.
#[test]
fn early_messages_are_not_lost() {
    let mut codex = CodexHarness::new(AllowLevel::Commands);
    codex.launched();
    codex.request("initialize");
    codex.send_command(send("one"));
    codex.send_command(send("two"));
    assert_eq!(codex.take(), queued());
    codex.welcome();
    assert_eq!(codex.request("turn/start")["input"], input("one"));
    codex.nothing_more();
}

#[test]
fn text_and_interrupts_wait_until_the_turn_is_running() {
    let mut codex = CodexHarness::opened();
    codex.send_command(send("go"));
    codex.request("turn/start");
    codex.send_command(AgentCommand::Steer("left".to_owned()));
    codex.answer(json!({"turn": {"id": "u1"}}));
    assert_eq!(codex.take(), delivered());
    codex.send_command(AgentCommand::Steer("right".to_owned()));
    codex.nothing_more();
    codex.turn_started("u1");
    for words in ["left", "right"] {
        let params = json!({"threadId": THREAD, "expectedTurnId": "u1", "input": input(words)});
        assert_eq!(codex.request("turn/steer"), params);
    }
    codex.answer_to("left", Ok(json!({"turnId": "u1"})));
    assert_eq!(codex.take(), CodexEffect::Event(AgentEvent::Delivered(Delivery::Steered)));

    let mut codex = CodexHarness::opened();
    codex.send_command(send("go"));
    codex.request("turn/start");
    codex.send_command(AgentCommand::Interrupt);
    codex.answer(json!({"turn": {"id": "u1"}}));
    assert_eq!(codex.take(), delivered());
    codex.nothing_more();
    codex.turn_started("u1");
    assert_eq!(codex.request("turn/interrupt"), json!({"threadId": THREAD, "turnId": "u1"}));
}

#[test]
fn late_text_starts_the_next_turn() {
    let mut codex = CodexHarness::running("u1");
    codex.send_command(AgentCommand::Steer("more".to_owned()));
    codex.request("turn/steer");
    codex.turn_completed("u1", "completed", "done");
    assert_eq!(codex.take(), finished("done"));
    codex.refuse("no active turn to steer");
    assert_eq!(codex.request("turn/start")["input"], input("more"));

    let mut codex = CodexHarness::running("u1");
    codex.send_command(AgentCommand::Steer("more".to_owned()));
    codex.request("turn/steer");
    codex.refuse("this turn cannot be steered");
    assert_eq!(codex.take(), queued());
    codex.turn_completed("u1", "completed", "done");
    assert_eq!(codex.take(), finished("done"));
    assert_eq!(codex.request("turn/start")["input"], input("more"));
}

/// The process of the interrupted turn is terminated, and the thread resumed
/// before anything else is sent.
#[test]
fn an_interrupt_restarts_codex() {
    let mut codex = CodexHarness::running("u1");
    codex.send_command(AgentCommand::Interrupt);
    codex.request("turn/interrupt");
    codex.answer(json!({}));
    codex.send_command(send("next"));
    assert_eq!(codex.take(), queued());
    codex.turn_completed("u1", "interrupted", "");
    assert_eq!(codex.take(), CodexEffect::Stop);
    codex.receive_notification(
        "item/completed",
        json!({"item": {"type": "agentMessage", "text": "late"}}),
    );
    codex.nothing_more();
    codex.exited(Some(0), "");
    assert_eq!(codex.take(), CodexEffect::Event(AgentEvent::TurnInterrupted));
    codex.launched();
    codex.request("initialize");
    codex.answer(json!({}));
    assert_eq!(codex.notified(), "initialized");
    assert_eq!(codex.request("thread/resume")["threadId"], THREAD);
    codex.answer(json!({"thread": {"id": THREAD}}));
    // Emitted after each launch; the loop passes only the first one on.
    assert!(matches!(codex.take(), CodexEffect::Event(AgentEvent::Started { .. })));
    assert_eq!(codex.request("turn/start")["input"], input("next"));
    codex.nothing_more();
}

#[test]
fn a_failed_restart_is_reported() {
    let mut codex = CodexHarness::running("u1");
    codex.send_command(AgentCommand::Interrupt);
    codex.turn_completed("u1", "interrupted", "");
    codex.exited(Some(0), "");
    codex.drain();
    codex.exited(Some(1), "\u{1b}[31mno\u{1b}[0m luck");
    assert_eq!(codex.failed(), "crashed");
}

/// The turn finished before the interrupt reached it.
#[test]
fn a_turn_faster_than_its_interrupt_finishes() {
    let mut codex = CodexHarness::running("u1");
    codex.send_command(AgentCommand::Interrupt);
    codex.request("turn/interrupt");
    codex.turn_completed("u1", "completed", "done");
    assert_eq!(codex.take(), finished("done"));
    codex.refuse("no active turn to interrupt");
    codex.nothing_more();
}

/// Codex pursues its own goal: nobody waits for the end of that turn.
#[test]
fn a_turn_started_by_codex_is_not_an_answer() {
    let mut codex = CodexHarness::opened();
    codex.turn_started("own");
    codex.send_command(send("go"));
    assert_eq!(codex.take(), queued());
    codex.turn_completed("own", "completed", "went on");
    assert_eq!(codex.request("turn/start")["input"], input("go"));
    codex.nothing_more();
}

#[test]
fn a_turn_that_codex_interrupts_fails() {
    let mut codex = CodexHarness::running("u1");
    codex.turn_completed("u1", "interrupted", "");
    let CodexEffect::Event(AgentEvent::TurnFailed(failure)) = codex.take() else {
        panic!("not failed")
    };
    assert_eq!(failure.kind(), "rejected");
    codex.nothing_more();
}

#[test]
fn a_rejected_message_fails_and_the_next_one_starts() {
    let mut codex = CodexHarness::opened();
    codex.send_command(send("one"));
    codex.request("turn/start");
    codex.send_command(send("two"));
    assert_eq!(codex.take(), queued());
    codex.refuse("thread not found");
    let CodexEffect::Event(AgentEvent::TurnFailed(failure)) = codex.take() else {
        panic!("not failed")
    };
    assert_eq!(failure.kind(), "rejected");
    assert_eq!(codex.request("turn/start")["input"], input("two"));
}

/// The end of a turn may arrive before the response to its request.
#[test]
fn a_turn_can_end_before_its_response() {
    let mut codex = CodexHarness::opened();
    codex.send_command(send("go"));
    codex.request("turn/start");
    codex.turn_completed("u1", "completed", "done");
    assert_eq!(codex.take(), delivered());
    assert_eq!(codex.take(), finished("done"));
    codex.answer(json!({"turn": {"id": "u1"}}));
    codex.nothing_more();
}

/// A subagent's tool calls count; its text is not the agent's.
#[test]
fn subagents_count_but_do_not_speak() {
    let mut codex = CodexHarness::running("u1");
    let of_helper = |params: Value| {
        let mut params = params;
        params["threadId"] = "helper".into();
        params
    };
    let words = json!({"item": {"type": "agentMessage", "id": "m", "text": "psst"}});
    codex.receive_raw_notification("item/completed", of_helper(words));
    codex.receive_raw_notification(
        "turn/completed",
        of_helper(json!({"turn": {"id": "u1", "status": "completed"}})),
    );
    codex.nothing_more();
    let usage =
        json!({"turnId": "h1", "tokenUsage": {"total": {"inputTokens": 5, "outputTokens": 2}}});
    codex.receive_raw_notification("thread/tokenUsage/updated", of_helper(usage));
    let usage = UsageDelta { input_tokens: 5, output_tokens: 2, ..UsageDelta::default() };
    assert_eq!(codex.take(), CodexEffect::Event(AgentEvent::Usage(usage)));
    let command = json!({"item": {"type": "commandExecution", "id": "c", "command": "ls"}});
    codex.receive_raw_notification("item/started", of_helper(command));
    let CodexEffect::Event(AgentEvent::ToolStarted { tool, .. }) = codex.take() else {
        panic!("no tool")
    };
    assert_eq!(tool, ToolAction::Command("ls".to_owned()));
    let ask = json!({"threadId": "helper", "itemId": "c", "command": "ls"});
    codex.receive_request(7, "item/commandExecution/requestApproval", ask);
    let approval = ApprovalId("1-7".to_owned());
    let ask =
        ApprovalRequest::Command { command: "ls".to_owned(), location: TargetLocation::Outside };
    let needed = AgentEvent::ApprovalNeeded { approval: approval.clone(), ask };
    assert_eq!(codex.take(), CodexEffect::Event(needed));
    // The reason would go to the wrong turn.
    codex.send_command(AgentCommand::Answer(approval, ApprovalDecision::Deny("no".to_owned())));
    assert_eq!(codex.written(), json!({"id": 7, "result": {"decision": "decline"}}));
    codex.nothing_more();
}

#[test]
fn unknown_requests_are_rejected_at_once() {
    let mut codex = CodexHarness::running("u1");
    for method in ["item/tool/call", "attestation/generate", "something/new"] {
        codex.receive_request(3, method, json!({"threadId": THREAD}));
        let answer = codex.written();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32601)));
    }
    codex.receive_notification("something/new", json!({}));
    codex.nothing_more();
}

#[test]
fn a_timeout_names_its_request() {
    let mut codex = CodexHarness::new(AllowLevel::Commands);
    codex.wait();
    assert_eq!(codex.failed(), "silent");
    let mut codex = CodexHarness::opened();
    codex.wait();
    codex.nothing_more();
    codex.send_command(send("go"));
    codex.request("turn/start");
    codex.wait();
    assert_eq!(codex.failure(), "codex did not respond for 30 s while accepting a message");
}

/// Without an app-server, each process reports that it is open.
#[test]
fn each_exec_process_resumes_the_thread() {
    let mut codex = CodexHarness::new(AllowLevel::Commands);
    codex.drain();
    codex.exited(Some(2), "unknown command");
    assert_eq!(codex.take(), CodexEffect::Event(AgentEvent::Listening));
    codex.nothing_more();
    for (words, resumes) in [("one", false), ("two", true)] {
        codex.send_command(send(words));
        let args = codex.launched().args;
        assert_eq!(args.contains(&"resume".into()), resumes, "{args:?}");
        assert_eq!(codex.take(), CodexEffect::Other(ProtocolEffect::WriteText(words.to_owned())));
        assert_eq!(codex.take(), CodexEffect::Other(ProtocolEffect::CloseInput));
        codex.receive_line(json!({"type": "thread.started", "thread_id": THREAD}));
        assert!(matches!(codex.take(), CodexEffect::Event(AgentEvent::Started { .. })));
        codex.receive_line(json!({"type": "turn.started"}));
        assert_eq!(codex.take(), delivered());
        codex.receive_line(json!({"type": "turn.completed", "usage": {}}));
        assert_eq!(codex.take(), finished(""));
        codex.exited(Some(0), "");
        codex.nothing_more();
    }
}

/// An app-server that fails at start is tried once more.
#[test]
fn an_app_server_that_fails_at_start_is_retried() {
    let mut codex = CodexHarness::new(AllowLevel::Commands);
    codex.drain();
    codex.exited(Some(1), "the database is locked");
    assert!(codex.launched().args.contains(&"app-server".into()));
    codex.request("initialize");
    codex.exited(Some(1), "the database is locked");
    assert_eq!(codex.take(), CodexEffect::Event(AgentEvent::Listening));
    codex.nothing_more();
}

#[test]
fn opening_another_thread_is_an_error() {
    for answer in [json!({"thread": {"id": "other"}}), json!({}), json!({"thread": {"id": "../x"}})]
    {
        let mut codex = CodexHarness::resumed(THREAD);
        codex.drain();
        codex.answer(json!({}));
        codex.drain();
        codex.answer(answer);
        assert_eq!(codex.failed(), "protocol");
    }
}

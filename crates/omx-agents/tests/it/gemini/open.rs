//! Opening a session with gemini.

use std::ffi::OsStr;
use std::time::{Duration, Instant};

use omx_agents::failure::FailureCause;
use omx_agents::protocol::{Launch, ProtocolEffect, ProtocolEvent};
use omx_agents::{
    AgentCommand, AgentEvent, AgentLimits, AgentMessage, ConversationId, ConversationSpec,
    ConversationStart,
};
use omx_kernel::approval::AllowLevel;
use serde_json::json;

use super::{
    GeminiHarness, ID, conversation_spec, events, failed, methods, opened, protocol, written,
};

#[test]
fn gemini_gets_only_the_variables_it_needs() {
    let launched = |more: &[(&str, &str)], allow, model: Option<&str>| {
        let model = model.map(str::to_owned);
        let spec = ConversationSpec { model, ..conversation_spec(ConversationStart::New, allow) };
        match protocol(&spec, more).start(Instant::now()).remove(0) {
            ProtocolEffect::Launch(launch) => launch,
            other => panic!("{other:?}"),
        }
    };
    let more = [
        ("GOOGLE_CLOUD_PROJECT", "p"),
        ("GEMINI_CLI_IDE_SERVER_PORT", "1"),
        ("OTHER_TOKEN", "secret"),
    ];
    let launch = launched(&more, AllowLevel::Commands, Some("m"));
    let args = ["--acp", "--approval-mode", "auto_edit", "--model=m"];
    assert_eq!(launch.args, args);
    let names: Vec<_> = launch.environment.keys().map(|name| name.to_str().unwrap()).collect();
    let wanted = ["GEMINI_API_KEY", "GEMINI_DEBUG_LOG_FILE", "GOOGLE_CLOUD_PROJECT", "HOME", "W"];
    assert_eq!(names, wanted);
    let log = |launch: &Launch| launch.environment[OsStr::new("GEMINI_DEBUG_LOG_FILE")].clone();
    assert_eq!(log(&launch), "/dev/stderr");
    let own = launched(&[("GEMINI_DEBUG_LOG_FILE", "/own")], AllowLevel::All, None);
    assert_eq!((log(&own), &own.args[2]), ("/own".into(), &"yolo".into()));
}

#[test]
fn early_messages_are_sent_once_the_session_is_open() {
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::Commands);
    assert_eq!(stage.send_command(AgentCommand::Send(AgentMessage::text("early"))), []);
    assert_eq!(methods(&stage.introduce()), ["session/new"]);
    assert_eq!(methods(&stage.answer(opened("autoEdit"))), ["session/set_mode"]);
    let effects = stage.answer(json!({}));
    assert!(matches!(effects[0], ProtocolEffect::Emit(AgentEvent::Started { .. })), "{effects:?}");
    assert_eq!(methods(&effects), ["session/prompt"]);
}

#[test]
fn an_interrupted_message_is_never_sent() {
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::All);
    stage.send_command(AgentCommand::Send(AgentMessage::text("early")));
    assert_eq!(events(&stage.send_command(AgentCommand::Interrupt)), [AgentEvent::TurnInterrupted]);
    assert_eq!(events(&stage.send_command(AgentCommand::Interrupt)), []);
    stage.introduce();
    assert_eq!(methods(&stage.answer(opened("yolo"))), [""; 0]);
}

#[test]
fn replayed_history_is_not_emitted() {
    let id = ConversationId::new(ID).unwrap();
    let mut stage = GeminiHarness::new(ConversationStart::Resume(id.clone()), AllowLevel::Commands);
    let effects = stage.introduce();
    let load = written(&effects).next().unwrap();
    assert_eq!(load["method"], "session/load");
    // Under its own id, gemini would overwrite it.
    assert_eq!(load["params"]["sessionId"], format!(" {ID}"));
    stage.say("old words");
    stage.answer(opened("autoEdit"));
    stage.say("older words");
    assert_eq!(stage.answer(json!({})), []);
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "x__1", "status": "completed"});
    assert_eq!(stage.update(call), []);
    let last = json!({"sessionUpdate": "available_commands_update", "availableCommands": []});
    let reported = events(&stage.update(last));
    assert_eq!(
        reported,
        [AgentEvent::Started { conversation: id, model: Some("auto".to_owned()) }]
    );
    stage.send_command(AgentCommand::Send(AgentMessage::text("new")));
    stage.say("new words");
    let usage = json!({"quota": {"token_count": {"input_tokens": 5, "output_tokens": 1}}});
    let reported = events(&stage.answer(json!({"stopReason": "end_turn", "_meta": usage})));
    assert_eq!(reported[0], AgentEvent::Text("new words".to_owned()));
}

#[test]
fn a_replay_without_an_end_times_out() {
    let id = ConversationId::new(ID).unwrap();
    let mut stage = GeminiHarness::new(ConversationStart::Resume(id), AllowLevel::All);
    stage.introduce();
    assert_eq!(stage.answer(opened("yolo")), []);
    assert_eq!(stage.wait(), Duration::from_secs(2));
    assert!(matches!(events(&stage.handle(ProtocolEvent::Tick))[..], [AgentEvent::Started { .. }]));
}

#[test]
fn every_request_has_a_deadline() {
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::Commands);
    for next in [json!({"protocolVersion": 1}), opened("autoEdit"), json!({})] {
        let waited = stage.wait();
        assert_eq!(waited, AgentLimits::default().request);
        stage.now -= waited;
        stage.answer(next);
    }
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::Commands);
    stage.introduce();
    let waited = stage.wait();
    let cause = failed(&stage.handle(ProtocolEvent::Tick));
    assert_eq!(cause, FailureCause::Silent { waited, during: "opening the conversation" });
}

#[test]
fn another_protocol_version_is_reported() {
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::Commands);
    let cause = failed(&stage.answer(json!({"protocolVersion": 2})));
    assert!(matches!(cause, FailureCause::Protocol { .. }), "{cause:?}");
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::Commands);
    stage.introduce();
    let cause = failed(&stage.answer(json!({"sessionId": "../../etc"})));
    assert!(matches!(cause, FailureCause::Protocol { .. }), "{cause:?}");
}

#[test]
fn a_login_is_tried_once() {
    let mut stage = GeminiHarness::new(ConversationStart::New, AllowLevel::Commands);
    stage.introduce();
    let effects = stage.refuse(-32000, "Authentication required");
    let line = written(&effects).next().unwrap();
    assert_eq!(
        (&line["method"], &line["params"]["methodId"]),
        (&json!("authenticate"), &json!("gemini-api-key"))
    );
    assert_eq!(methods(&stage.answer(json!({}))), ["session/new"]);
    let cause = failed(&stage.refuse(-32000, "Authentication required"));
    assert!(matches!(cause, FailureCause::NotLoggedIn { .. }), "{cause:?}");
}

#[test]
fn variables_of_an_mcp_server_are_part_of_its_entry() {
    let mut spec = conversation_spec(ConversationStart::New, AllowLevel::Commands);
    spec.servers[0].env.insert("OMX_CONTEXT".to_owned(), "{}".to_owned());
    let mut stage = GeminiHarness::with(&spec);
    let effects = stage.introduce();
    let line = written(&effects).next().unwrap();
    let env = &line["params"]["mcpServers"][0]["env"];
    assert_eq!(env, &json!([{"name": "OMX_CONTEXT", "value": "{}"}]));
}

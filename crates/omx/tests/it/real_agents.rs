//! The real agent programs as clients of `omx mcp`: each starts a run and
//! reads it back with its own MCP client, without a network.

use omx_testkit::model::{ModelScript, ModelServer};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::{Value, json};

/// An agent writes and reads state through our server, in its project.
#[track_caller]
fn writes_and_reads(cli: AgentCli) {
    let input = json!({"mode": "ralph", "session_id": "s", "active": true, "iteration": 2});
    let script = ModelScript::named("state")
        .mcp("omx", "state_write", input)
        .mcp("omx", "state_read", json!({"mode": "ralph", "session_id": "s"}))
        .say("stored and read");
    let server = ModelServer::start([script]);
    let home = AgentHome::new(cli, &server).mcp("omx", env!("CARGO_BIN_EXE_omx"), &["mcp"]);
    let run = home.headless("go [[script:state]]", &[]);
    assert_eq!(run.outcome.code, Some(0), "{run:#?}");
    assert_eq!(run.final_text(), "stored and read");
    let stored = home.read(".omx/state/sessions/s/ralph-state.json");
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!((&stored["active"], &stored["iteration"]), (&true.into(), &2.into()));
    // The model received the document as the answer.
    let turns = server.turns("state");
    assert_eq!(turns.len(), 3, "{:?}", server.seen());
    let started = stored["started_at"].as_str().unwrap();
    assert!(turns[2].body.to_string().contains(started), "{:#?}", turns[2].body);
}

#[test]
fn codex_keeps_state_through_our_server() {
    offline(&[AgentCli::Codex], || writes_and_reads(AgentCli::Codex));
}

#[test]
fn claude_keeps_state_through_our_server() {
    offline(&[AgentCli::Claude], || writes_and_reads(AgentCli::Claude));
}

#[test]
fn gemini_keeps_state_through_our_server() {
    offline(&[AgentCli::Gemini], || writes_and_reads(AgentCli::Gemini));
}

//! Subagents and other conversations do not affect the conversation that started a
//! mode.

use omx_testkit::model::{ModelScript, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::stage::{HostStage, completion};

/// A subagent whose prompt starts a mode, and which stops while one is active.
fn subagent(cli: AgentCli) {
    let task = "$autopilot build everything [[script:sub]]";
    let call = match cli {
        AgentCli::Codex => {
            ScriptTurn::new().call_in("multi_agent_v1", "spawn_agent", json!({"message": task}))
        }
        _ => ScriptTurn::new().call(
            "Agent",
            json!({"description": "help", "prompt": task, "subagent_type": "general-purpose"}),
        ),
    };
    let mut main = ModelScript::named("main").turn(call);
    if cli == AgentCli::Codex {
        main = main.turn(ScriptTurn::new().call_in(
            "multi_agent_v1",
            "wait_agent",
            json!({"targets": [], "timeout_ms": 10_000}),
        ));
    }
    let main = main.say("is that enough?").say("held once").say("held twice").repeating();
    let sub = ModelScript::named("sub").shell("touch helped").say("helped").repeating();
    let stage = HostStage::new(cli, [main, sub]);
    stage.omx(&["config", "set", "limits.max_iterations.ralph", "2", "--project"]);
    let mut host = stage.start();
    host.turn("$ralph make it work [[script:main]]");
    let session = host.session();
    assert!(!stage.has_document(session, "autopilot"));
    // Two holds, both of the conversation's own agent; the third stop hit the bound.
    let document = stage.document(session, "ralph");
    assert_eq!(document["iteration"], 2, "{document}");
    assert_eq!(document["error"], "max_iterations reached");
    let sessions = stage.home.root().join(".omx/state/sessions");
    assert_eq!(std::fs::read_dir(sessions).unwrap().count(), 1);
    // The subagent stopped without being held: it replied twice. It may outlive its
    // parent for a moment.
    let patience = std::time::Duration::from_secs(30);
    omx_testkit::await_condition("it spoke twice", patience, || stage.requests("sub").len() == 2);
    assert!(stage.home.root().join("helped").exists(), "{:?}", stage.server.seen());
}

#[test]
fn codex_subagents_start_and_hold_nothing() {
    offline(&[AgentCli::Codex], || subagent(AgentCli::Codex));
}

#[test]
fn claude_subagents_start_and_hold_nothing() {
    offline(&[AgentCli::Claude], || subagent(AgentCli::Claude));
}

fn two_conversations(cli: AgentCli) {
    let one = ModelScript::named("one")
        .say("is that enough?")
        .shell("touch waiting; while [ ! -e go ]; do sleep 0.05; done")
        .mcp("omx", "state_write", json!({"mode": "ralph", "current_phase": "executing"}))
        .mcp("omx", "state_write", json!({"mode": "ralph", "current_phase": "verifying"}))
        .mcp("omx", "state_write", completion())
        .say("done");
    let two = ModelScript::named("two")
        .mcp("omx", "state_list_active", json!({}))
        .say("hello")
        .say("never asked for");
    let stage = HostStage::new(cli, [one, two]);
    let mut first = stage.start();
    first.prompt("$ralph make it work [[script:one]]");
    let root = stage.home.root();
    let patience = std::time::Duration::from_secs(30);
    omx_testkit::await_condition("the first works", patience, || root.join("waiting").exists());
    let sessions = root.join(".omx/state/sessions");
    let before = std::fs::read_dir(&sessions).unwrap().count();
    let mut second = stage.start();
    second.turn("hello [[script:two]]");
    assert_eq!(stage.requests("two").len(), 2, "{:?}", stage.server.seen());
    assert!(!stage.requests("two")[0].contains("Ralph"));
    assert_eq!(std::fs::read_dir(&sessions).unwrap().count(), before);
    second.turn("cancelomx [[script:two]]");
    std::fs::write(root.join("go"), "").unwrap();
    // The first is still held by its own mode.
    first.ended();
    let document = stage.document(first.session(), "ralph");
    assert_eq!(document["iteration"], 1, "{document}");
    assert_eq!(document["run_outcome"], "finish", "{document}");
    assert_ne!(first.session(), second.session());
}

#[test]
fn codex_conversations_in_one_folder_do_not_touch_each_other() {
    offline(&[AgentCli::Codex], || two_conversations(AgentCli::Codex));
}

#[test]
fn claude_conversations_in_one_folder_do_not_touch_each_other() {
    offline(&[AgentCli::Claude], || two_conversations(AgentCli::Claude));
}

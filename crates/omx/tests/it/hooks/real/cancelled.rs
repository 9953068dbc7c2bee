//! Ways out: a cancel from another process, a cancel by prompt, an interrupt.

use std::time::Duration;

use omx_testkit::await_condition;
use omx_testkit::model::{ModelScript, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::stage::HostStage;

const PATIENCE: Duration = Duration::from_secs(30);

fn from_elsewhere(cli: AgentCli) {
    let script = ModelScript::named("work")
        .say("is that enough?")
        .shell("touch waiting; while [ ! -e go ]; do sleep 0.05; done")
        .say("then I stop")
        .say("asked again");
    let stage = HostStage::new(cli, [script]);
    let mut host = stage.start();
    host.prompt("$ralph make it work [[script:work]]");
    let root = stage.home.root();
    await_condition("the agent works", PATIENCE, || root.join("waiting").exists());
    // Another process without a session.
    assert!(stage.omx(&["cancel"]).contains("Ralph cancelled."));
    std::fs::write(root.join("go"), "").unwrap();
    host.ended();
    assert_eq!(stage.requests("work").len(), 3, "{:?}", stage.server.seen());
    let document = stage.document(host.session(), "ralph");
    assert_eq!(
        (&document["run_outcome"], &document["iteration"]),
        (&json!("cancelled"), &json!(1))
    );
}

#[test]
fn codex_stops_after_a_cancel_from_another_process() {
    offline(&[AgentCli::Codex], || from_elsewhere(AgentCli::Codex));
}

#[test]
fn claude_stops_after_a_cancel_from_another_process() {
    offline(&[AgentCli::Claude], || from_elsewhere(AgentCli::Claude));
}

/// Interrupted while the model replies and while a tool runs: the stop is not held,
/// and ralph keeps its phase. Then a one-word prompt cancels it.
fn interrupted(cli: AgentCli) {
    let words = "word ".repeat(300);
    let slow = ModelScript::named("slow")
        .say("is that enough?")
        .turn(ScriptTurn::new().say(&words).slowly(Duration::from_millis(200)))
        .say("never asked for");
    let tool = ModelScript::named("tool").shell("touch begun; sleep 60").say("never asked for");
    let stop = ModelScript::named("stop").say("stopped").say("never asked for");
    let stage = HostStage::new(cli, [slow, tool, stop]);
    let mut host = stage.start();
    host.prompt("$ralph make it work [[script:slow]]");
    await_condition("the model speaks", PATIENCE, || stage.requests("slow").len() == 2);
    host.interrupt();
    host.ended();
    assert_eq!(stage.requests("slow").len(), 2, "{:?}", stage.server.seen());
    let iteration = |host: &super::live::LiveHost| {
        let document = stage.document(host.session(), "ralph");
        assert_eq!(document["active"], true, "{document}");
        document["iteration"].as_u64().unwrap()
    };
    assert_eq!(iteration(&host), 1);
    host.prompt("look at the tests first [[script:tool]]");
    await_condition("the tool runs", PATIENCE, || stage.home.root().join("begun").exists());
    host.interrupt();
    host.ended();
    assert_eq!(stage.requests("tool").len(), 1, "{:?}", stage.server.seen());
    assert_eq!(iteration(&host), 1);
    // The prompt "cancel" names no script: the prompt before it did.
    host.turn("cancelomx [[script:stop]]");
    assert_eq!(stage.requests("stop").len(), 1, "{:?}", stage.server.seen());
    assert!(stage.requests("stop")[0].contains("Ralph cancelled."));
    assert_eq!(stage.document(host.session(), "ralph")["run_outcome"], "cancelled");
}

#[test]
fn codex_is_not_held_when_it_is_interrupted() {
    offline(&[AgentCli::Codex], || interrupted(AgentCli::Codex));
}

#[test]
fn claude_is_not_held_when_it_is_interrupted() {
    offline(&[AgentCli::Claude], || interrupted(AgentCli::Claude));
}

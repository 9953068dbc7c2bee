//! What the documents promise of a conversation: a run that moves is never ended by its
//! stops, a call without a task takes up what was cancelled, and force reaches every
//! conversation.

use std::time::Duration;

use omx_testkit::await_condition;
use omx_testkit::model::ModelScript;
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::{Value, json};

use super::stage::HostStage;

const PATIENCE: Duration = Duration::from_secs(60);
/// More stops than any limit on rounds.
const STOPS: usize = 25;
/// Waits until the test lets the agent go on.
const WAIT: &str = "touch waiting; while [ ! -e go ]; do sleep 0.05; done";
const PLANS: &str = "mkdir -p .omx/plans && echo plan > .omx/plans/prd-x.md && \
                     echo tests > .omx/plans/test-spec-x.md";

/// A write of autopilot's document.
fn advance(script: ModelScript, phase: &str, fields: Value) -> ModelScript {
    let mut input = json!({"mode": "autopilot", "current_phase": phase});
    for (name, value) in fields.as_object().unwrap() {
        input[name] = value.clone();
    }
    script.mcp("omx", "state_write", input)
}

fn plan(script: ModelScript) -> ModelScript {
    let plan = json!({"plan_path": ".omx/plans/prd-x.md",
        "test_spec_path": ".omx/plans/test-spec-x.md"});
    advance(script.shell(PLANS), "ralph", json!({"handoff_artifacts": {"ralplan": plan}}))
}

fn build(script: ModelScript) -> ModelScript {
    let work = json!({"changed_files": ["x.txt"],
        "evidence": [{"command": "true", "exit_code": 0}]});
    let script = script.write("x.txt", "made\n");
    advance(script, "code-review", json!({"handoff_artifacts": {"ralph": work}}))
}

fn review(script: ModelScript) -> ModelScript {
    let verdict =
        json!({"recommendation": "APPROVE", "architectural_status": "CLEAR", "clean": true});
    let fields = json!({"review_verdict": verdict, "return_to_ralplan_reason": null});
    advance(script, "complete", fields)
}

fn held_often(cli: AgentCli) {
    let mut script = plan(ModelScript::named("long"));
    for stop in 0..STOPS {
        script = script.shell(&format!("echo {stop} >> x.txt")).say(&format!("part {stop}"));
    }
    let stage = HostStage::new(cli, [review(build(script)).say("reviewed and done")]);
    let mut host = stage.start();
    host.turn("$autopilot make x.txt [[script:long]]");
    let requests = stage.requests("long");
    // The plan takes two turns, the rest of the work three.
    assert_eq!(requests.len(), 2 + 2 * STOPS + 3 + 1, "{:?}", stage.server.seen());
    let document = stage.document(host.session(), "autopilot");
    assert_eq!(document["run_outcome"], "finish", "{document}");
    let rounds = (&document["iteration"], &document["review_cycle"]);
    assert_eq!(rounds, (&json!(1), &json!(0)), "{document}");
}

#[test]
fn codex_ends_an_autopilot_cleanly_after_25_held_stops() {
    offline(&[AgentCli::Codex], || held_often(AgentCli::Codex));
}

#[test]
fn claude_ends_an_autopilot_cleanly_after_25_held_stops() {
    offline(&[AgentCli::Claude], || held_often(AgentCli::Claude));
}

fn continued_elsewhere(cli: AgentCli, bare_call: &str) {
    let begun = plan(ModelScript::named("auto").say("let me think")).shell(WAIT).say("I stop");
    let next = build(ModelScript::named("next").say("hello")).say("built");
    let stage = HostStage::new(cli, [begun, review(next).say("reviewed and done")]);
    let root = stage.home.root();
    let mut first = stage.start();
    first.prompt("$autopilot make x.txt [[script:auto]]");
    await_condition("the agent works", PATIENCE, || root.join("waiting").exists());
    let cancelled = stage.omx(&["cancel"]);
    assert!(cancelled.contains("Autopilot cancelled at phase: ralph."), "{cancelled}");
    std::fs::write(root.join("go"), "").unwrap();
    first.ended();
    let before = stage.document(first.session(), "autopilot");

    let mut second = stage.start();
    // The script of a prompt that names none is that of the prompt before it.
    second.turn("hello [[script:next]]");
    second.turn(bare_call);
    assert_ne!(first.session(), second.session());
    let requests = stage.requests("next");
    assert_eq!(requests.len(), 6, "{:?}", stage.server.seen());
    assert!(requests[1].contains("Task: make x.txt"), "{}", requests[1]);
    let document = stage.document(second.session(), "autopilot");
    assert_eq!(document["run_outcome"], "finish", "{document}");
    assert_eq!(document["started_at"], before["started_at"], "{document}");
    assert_eq!(document["handoff_artifacts"]["ralplan"], before["handoff_artifacts"]["ralplan"]);
}

#[test]
fn codex_continues_a_cancelled_autopilot_in_a_new_conversation_by_a_bare_call() {
    offline(&[AgentCli::Codex], || continued_elsewhere(AgentCli::Codex, "$autopilot"));
}

#[test]
fn claude_continues_a_cancelled_autopilot_in_a_new_conversation_by_a_bare_call() {
    offline(&[AgentCli::Claude], || continued_elsewhere(AgentCli::Claude, "/autopilot"));
}

fn forced(cli: AgentCli, call: &str) {
    let one = ModelScript::named("one").say("is that enough?").shell(WAIT).say("then I stop");
    let two = ModelScript::named("two").say("cancelled").say("never asked for");
    let stage = HostStage::new(cli, [one.say("never asked for"), two]);
    let root = stage.home.root();
    let mut first = stage.start();
    first.prompt("$ralph make it work [[script:one]]");
    await_condition("the first works", PATIENCE, || root.join("waiting").exists());
    let mut second = stage.start();
    second.turn(&format!("{call} [[script:two]]"));
    std::fs::write(root.join("go"), "").unwrap();
    first.ended();
    assert_eq!(stage.requests("one").len(), 3, "{:?}", stage.server.seen());
    assert!(
        stage.requests("two")[0].contains("All OMX modes cleared."),
        "{:?}",
        stage.server.seen()
    );
    assert!(!stage.has_document(first.session(), "ralph"));
}

#[test]
fn codex_cancels_every_conversation_by_force() {
    offline(&[AgentCli::Codex], || forced(AgentCli::Codex, "$cancel --force"));
}

#[test]
fn claude_cancels_every_conversation_by_force() {
    offline(&[AgentCli::Claude], || forced(AgentCli::Claude, "/cancel --force"));
}

//! A mode from its start to its end: started by a prompt, held by the Stop hook,
//! advanced by what the agent writes through MCP and the shell.

use omx_testkit::model::ModelScript;
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::stage::{HostStage, OMX, completion};

fn ralph(cli: AgentCli) {
    let shell = format!(
        "{OMX} state write --input '{}'",
        json!({"mode": "ralph", "current_phase": "verifying"})
    );
    let script = ModelScript::named("ralph")
        .say("I think that is all")
        .mcp("omx", "state_write", json!({"mode": "ralph", "current_phase": "executing"}))
        .say("worked on it")
        .shell(&shell)
        .say("checked it")
        .mcp("omx", "state_write", completion())
        .say("all done");
    let stage = HostStage::new(cli, [script]);
    let mut host = stage.start();
    host.turn("$ralph make it work [[script:ralph]]");
    let requests = stage.requests("ralph");
    assert_eq!(requests.len(), 7, "{:?}", stage.server.seen());
    // The agent was informed of the start, and of each hold with its phase.
    assert!(requests[0].contains("Ralph started in session"), "{}", requests[0]);
    assert!(requests[1].contains("phase starting, iteration 1/50"), "{}", requests[1]);
    assert!(requests[3].contains("phase executing, iteration 2/50"), "{}", requests[3]);
    assert!(requests[5].contains("phase verifying, iteration 3/50"), "{}", requests[5]);
    let document = stage.document(host.session(), "ralph");
    assert_eq!(document["run_outcome"], "finish", "{document}");
    assert_eq!(document["session_id"], host.session());
    assert_eq!(document["task_description"], "make it work [[script:ralph]]");
    // Nothing was written outside the conversation's own scope.
    assert!(!stage.home.root().join(".omx/state/ralph-state.json").exists());
}

#[test]
fn codex_is_held_to_the_end_of_a_ralph() {
    offline(&[AgentCli::Codex], || ralph(AgentCli::Codex));
}

#[test]
fn claude_is_held_to_the_end_of_a_ralph() {
    offline(&[AgentCli::Claude], || ralph(AgentCli::Claude));
}

fn autopilot(cli: AgentCli) {
    let write = |input| ("omx", "state_write", input);
    let mode = |fields: serde_json::Value| {
        let mut input = json!({"mode": "autopilot"});
        for (name, value) in fields.as_object().unwrap() {
            input[name] = value.clone();
        }
        write(input)
    };
    let (server, tool, plan) = mode(json!({"current_phase": "ralph", "handoff_artifacts": {
        "ralplan": {"plan_path": ".omx/plans/prd-x.md", "test_spec_path": ".omx/plans/test-spec-x.md"}}}));
    let (_, _, built) = mode(json!({"current_phase": "code-review", "handoff_artifacts": {
        "ralph": {"changed_files": ["x.txt"], "evidence": [{"command": "true", "exit_code": 0}]}}}));
    let (_, _, clean) = mode(json!({"current_phase": "complete", "return_to_ralplan_reason": null,
        "review_verdict": {"recommendation": "APPROVE", "architectural_status": "CLEAR", "clean": true}}));
    let script = ModelScript::named("auto")
        .say("let me think")
        .shell("mkdir -p .omx/plans && echo plan > .omx/plans/prd-x.md && echo tests > .omx/plans/test-spec-x.md")
        .mcp(server, tool, plan)
        .say("planned")
        .write("x.txt", "made\n")
        .mcp(server, tool, built)
        .say("built")
        .mcp(server, tool, clean)
        .say("reviewed and done");
    let stage = HostStage::new(cli, [script]);
    let mut host = stage.start();
    host.turn("$autopilot make x.txt [[script:auto]]");
    let requests = stage.requests("auto");
    assert_eq!(requests.len(), 9, "{:?}", stage.server.seen());
    // Each hold carries the instruction of its phase.
    assert!(requests[1].contains("phase ralplan") && requests[1].contains("agree on a plan"));
    assert!(requests[4].contains("phase ralph") && requests[4].contains("implement and verify"));
    assert!(requests[7].contains("phase code-review") && requests[7].contains("both lanes"));
    let document = stage.document(host.session(), "autopilot");
    assert_eq!(document["run_outcome"], "finish", "{document}");
    assert_eq!(document["review_verdict"]["clean"], true);
    let kept = document["handoff_artifacts"]["context_snapshot_path"].as_str().unwrap();
    assert!(stage.home.read(kept).contains("make x.txt"));
    assert_eq!(stage.home.read("x.txt"), "made\n");
}

#[test]
fn codex_walks_through_an_autopilots_phases_in_one_conversation() {
    offline(&[AgentCli::Codex], || autopilot(AgentCli::Codex));
}

#[test]
fn claude_walks_through_an_autopilots_phases_in_one_conversation() {
    offline(&[AgentCli::Claude], || autopilot(AgentCli::Claude));
}

/// Without the records of hosts, Codex's server learns its conversation only from the
/// hook before the call; Claude Code's has a variable.
fn filled_in(cli: AgentCli) {
    let script = ModelScript::named("fill")
        .shell("rm -rf \"$HOME/.local/state/omx/hosts\"")
        .mcp("omx", "state_write", json!({"mode": "ultrawork", "active": true}))
        .mcp("omx", "cancel", json!({}))
        .say("done");
    let stage = HostStage::new(cli, [script]);
    let mut host = stage.start();
    host.turn("please do it [[script:fill]]");
    let document = stage.document(host.session(), "ultrawork");
    assert_eq!(document["run_outcome"], "cancelled", "{document}");
    assert!(!stage.home.root().join(".omx/state/ultrawork-state.json").exists());
}

#[test]
fn codex_calls_get_their_conversation_from_the_hook() {
    offline(&[AgentCli::Codex], || filled_in(AgentCli::Codex));
}

#[test]
fn claude_calls_land_in_their_conversation_without_a_record() {
    offline(&[AgentCli::Claude], || filled_in(AgentCli::Claude));
}

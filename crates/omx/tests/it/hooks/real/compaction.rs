//! Compaction in the middle: what is active stays known, what was cancelled
//! stays cancelled.

use omx_testkit::model::{ModelRequestKind, ModelScript};
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::stage::{HostStage, completion, interrupted, interrupted_ralph};

/// Whether the host asked its model for a summary.
fn was_compacted(stage: &HostStage) -> bool {
    stage.server.requests().iter().any(|request| request.kind == ModelRequestKind::Compaction)
}

fn compacted(cli: AgentCli) {
    let second = ModelScript::named("second")
        .mcp("omx", "state_write", json!({"mode": "ralph", "current_phase": "executing"}))
        .say("where was I?")
        .mcp("omx", "state_write", json!({"mode": "ralph", "current_phase": "verifying"}))
        .mcp("omx", "state_write", completion())
        .say("done");
    let stage = HostStage::new(cli, [interrupted(), second]);
    let mut host = interrupted_ralph(&stage);
    host.compact();
    assert!(was_compacted(&stage), "{:?}", stage.server.seen());
    host.turn("and now go on with the work [[script:second]]");
    let requests = stage.requests("second");
    assert_eq!(requests.len(), 5, "{:?}", stage.server.seen());
    // Its context after the compaction comes from the documents.
    let reported = "The conversation was compacted. The documents say";
    assert!(requests[0].contains(reported), "{}", requests[0]);
    assert!(requests[0].contains("Ralph active: phase starting, iteration 1/50"));
    assert!(requests[2].contains("phase executing, iteration 2/50"), "{}", requests[2]);
    assert_eq!(stage.document(host.session(), "ralph")["run_outcome"], "finish");
}

#[test]
fn codex_keeps_its_mode_through_compaction() {
    offline(&[AgentCli::Codex], || compacted(AgentCli::Codex));
}

#[test]
fn claude_keeps_its_mode_through_compaction() {
    offline(&[AgentCli::Claude], || compacted(AgentCli::Claude));
}

fn not_revived(cli: AgentCli) {
    let second = ModelScript::named("second").say("nothing holds me").say("never asked for");
    let stage = HostStage::new(cli, [interrupted(), second]);
    let mut host = interrupted_ralph(&stage);
    stage.omx(&["cancel", "--session-id", host.session()]);
    let before = stage.document(host.session(), "ralph");
    host.compact();
    assert!(was_compacted(&stage), "{:?}", stage.server.seen());
    host.turn("hello [[script:second]]");
    assert_eq!(stage.requests("second").len(), 1, "{:?}", stage.server.seen());
    assert_eq!(stage.document(host.session(), "ralph"), before);
}

#[test]
fn codex_does_not_revive_a_cancelled_mode() {
    offline(&[AgentCli::Codex], || not_revived(AgentCli::Codex));
}

#[test]
fn claude_does_not_revive_a_cancelled_mode() {
    offline(&[AgentCli::Claude], || not_revived(AgentCli::Claude));
}

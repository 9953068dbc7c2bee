//! What a person sees in the real programs, who has read no documentation: that a mode
//! started, why the agent continues, how to stop it, and what an interrupt means.

use std::time::Duration;

use omx_testkit::model::{ModelScript, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, offline};

use super::panes::HostPane;
use super::stage::HostStage;

fn slow() -> ScriptTurn {
    ScriptTurn::new().say(&"thinking ".repeat(600)).slowly(Duration::from_millis(200))
}

/// A session's only document of a mode.
fn document(stage: &HostStage, mode: &str) -> serde_json::Value {
    let sessions = stage.home.root().join(".omx/state/sessions");
    let session = std::fs::read_dir(sessions).unwrap().next().unwrap().unwrap().file_name();
    stage.document(session.to_str().unwrap(), mode)
}

fn hold(iteration: u32) -> String {
    format!(
        "[omx] Ralph is not finished (phase starting, iteration {iteration}/50). Next: begin the work and enter executing. To stop it, type cancelomx."
    )
}

fn conversation(cli: AgentCli) {
    let work = ModelScript::named("work").say("I changed the parser.").turn(slow());
    let side = ModelScript::named("side").say("It reads TOML.").say("Back at work.").turn(slow());
    let stop = ModelScript::named("stop").say("Stopped, as you said.").say("never asked for");
    let stage = HostStage::new(cli, [work, side, stop]);
    let host = HostPane::start(&stage);

    host.ask("$ralph fix the parser [[script:work]]", "Ralph started. The agent works");
    host.wait_for(
        "omx: Ralph started. The agent works until it is finished. To stop it, type cancelomx.",
    );
    host.wait_for(&hold(1));
    host.wait_for("thinking thinking");

    // A side question is answered, once, and the person knows how it goes on.
    host.interrupt();
    host.wait_idle();
    host.ask("what does parser.rs do? [[script:side]]", "It reads TOML.");
    host.wait_for(
        "omx: Ralph is paused because you interrupted it. Type continue to resume it, or cancelomx to end it.",
    );
    host.wait_idle();
    assert_eq!(stage.requests("side").len(), 1, "{}", host.screen());
    assert!(!host.screen().contains(&hold(2)), "{}", host.screen());

    host.ask("continue", "omx: Ralph continues. To stop it, type cancelomx.");
    host.wait_for("Back at work.");
    host.wait_for(&hold(2));
    host.wait_for("thinking thinking");
    host.interrupt();
    host.wait_idle();

    host.ask("cancelomx [[script:stop]]", "Stopped, as you said.");
    host.wait_for("omx: Ralph cancelled.");
    host.wait_idle();
    assert_eq!(stage.requests("stop").len(), 1, "{}", host.screen());
    assert_eq!(document(&stage, "ralph")["run_outcome"], "cancelled");
    let shown = host.screen();
    for word in ["hook error", "Hook failed", "completion_audit", "state_write"] {
        assert!(!shown.contains(word), "{word}: {shown}");
    }
}

#[test]
fn codex_shows_start_hold_pause_and_cancel() {
    offline(&[AgentCli::Codex], || conversation(AgentCli::Codex));
}

#[test]
fn claude_shows_start_hold_pause_and_cancel() {
    offline(&[AgentCli::Claude], || conversation(AgentCli::Claude));
}

fn bound(cli: AgentCli) {
    let work = ModelScript::named("work").say("The same again.").repeating();
    let stage = HostStage::new(cli, [work]);
    let host = HostPane::start(&stage);
    host.ask(
        "$autopilot build a lexer [[script:work]]",
        "Type continue to resume it, or cancelomx to end it.",
    );
    host.wait_for("omx: Autopilot is paused and not finished: no progress");
    host.wait_idle();
    host.ask("cancel", "omx: Autopilot cancelled at phase: ralplan.");
    host.wait_for("Type $autopilot to resume.");
    assert_eq!(document(&stage, "autopilot")["run_outcome"], "cancelled");
}

#[test]
fn codex_shows_what_ran_out_and_how_to_resume() {
    offline(&[AgentCli::Codex], || bound(AgentCli::Codex));
}

#[test]
fn claude_shows_what_ran_out_and_how_to_resume() {
    offline(&[AgentCli::Claude], || bound(AgentCli::Claude));
}

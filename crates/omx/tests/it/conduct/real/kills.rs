//! Killed anywhere, a run with a real program goes on in the conversations it
//! had, and nothing is asked of the model twice.

use omx_testkit::real_cli::{AgentCli, offline};

use super::gauntlet::{self, Blow, Victim, When};
use super::site::Site;
use super::{autopilot, ralph};

/// Ralph, where the same one is killed each time.
fn ralph_survives(cli: AgentCli, victim: Victim) {
    let blow = |when, script, turn| Blow::new(victim, when, script, turn);
    let blows = match victim {
        // Between steps there is no agent.
        Victim::Agent => vec![
            blow(When::Asked, "work", 0),
            blow(When::Asked, "work", 1),
            blow(When::Asked, "fix", 0),
            blow(When::Asked, "fix", 1),
            blow(When::Asked, "verify", 0),
            blow(When::Asked, "tidy", 0),
        ],
        Victim::Omx | Victim::Both => vec![
            // Nothing was said yet: the conversation may be gone with the program.
            blow(When::Named("work"), "work", 0),
            blow(When::Asked, "work", 0),
            blow(When::Asked, "work", 1),
            blow(When::Checking, "", 0),
            blow(When::Asked, "fix", 0),
            blow(When::Finished("check2"), "verify", 0),
            blow(When::Asked, "tidy", 0),
        ],
    };
    ralph_survives_at(&Site::new(cli, ralph::scripts()), &blows, &["work"]);
}

/// Ralph through these kills; these steps may be begun again.
fn ralph_survives_at(site: &Site, blows: &[Blow], anew: &[&str]) {
    let check = gauntlet::check(site);
    let args = ["--check", &check, "--verify", "thorough", "greet people by name"];
    let outcome = gauntlet::run(site, "ralph", &args, blows);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", site.server.seen());
    ralph::assert_complete(site, &check);
    let lost: Vec<_> = blows.iter().map(|blow| blow.held).collect();
    site.assert_books_of(&ralph::STEPS, &lost, anew);
    assert_opened(site, blows);
}

/// Autopilot, where everybody is killed in turn.
fn autopilot_survives(cli: AgentCli) {
    use Victim::{Agent, Both, Omx};
    let site = Site::new(cli, autopilot::scripts());
    let blows = [
        Blow::new(Omx, When::Asked, "draft1", 0),
        Blow::new(Both, When::Asked, "critic", 0),
        Blow::new(Agent, When::Asked, "work1", 1),
        // One lane is done, the other is not.
        Blow::new(Omx, When::AskedAfter("c1.review.architect"), "code1", 0),
        Blow::new(Agent, When::Asked, "draft2", 0),
        Blow::new(Both, When::Asked, "work2", 1),
        Blow::new(Both, When::AskedAfter("c2.review.architect"), "code2", 0),
    ];
    let outcome = gauntlet::run(&site, "autopilot", &autopilot::ARGS, &blows);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", site.server.seen());
    autopilot::assert_complete(&site);
    let lost: Vec<_> = blows.iter().map(|blow| blow.held).collect();
    site.assert_books(&autopilot::STEPS, &lost);
    assert_opened(&site, &blows);
}

/// Every omx that took the run up is in its journal.
#[track_caller]
fn assert_opened(site: &Site, blows: &[Blow]) {
    let killed = blows.iter().filter(|blow| blow.victim != Victim::Agent).count();
    let opened = site.journal().iter().filter(|record| record["kind"] == "opened").count();
    assert_eq!(opened, 1 + killed);
    assert_eq!(site.closed(), ["complete"]);
}

#[test]
fn codex_ralph_goes_on_when_omx_is_killed() {
    offline(&[AgentCli::Codex], || ralph_survives(AgentCli::Codex, Victim::Omx));
}

#[test]
fn codex_ralph_goes_on_when_codex_is_killed() {
    offline(&[AgentCli::Codex], || ralph_survives(AgentCli::Codex, Victim::Agent));
}

#[test]
fn codex_ralph_goes_on_when_both_are_killed() {
    offline(&[AgentCli::Codex], || ralph_survives(AgentCli::Codex, Victim::Both));
}

#[test]
fn codex_ralph_goes_on_without_an_app_server_too() {
    offline(&[AgentCli::Codex], || {
        let site = Site::with_old_codex(ralph::scripts());
        let blows = [
            Blow::new(Victim::Omx, When::Asked, "work", 0),
            Blow::new(Victim::Both, When::Asked, "work", 1),
            Blow::new(Victim::Agent, When::Asked, "fix", 1),
            Blow::new(Victim::Omx, When::Asked, "tidy", 0),
        ];
        ralph_survives_at(&site, &blows, &[]);
    });
}

#[test]
fn codex_autopilot_goes_on_whoever_is_killed() {
    offline(&[AgentCli::Codex], || autopilot_survives(AgentCli::Codex));
}

#[test]
fn claude_ralph_goes_on_when_omx_is_killed() {
    offline(&[AgentCli::Claude], || ralph_survives(AgentCli::Claude, Victim::Omx));
}

#[test]
fn claude_ralph_goes_on_when_claude_is_killed() {
    offline(&[AgentCli::Claude], || ralph_survives(AgentCli::Claude, Victim::Agent));
}

#[test]
fn claude_ralph_goes_on_when_both_are_killed() {
    offline(&[AgentCli::Claude], || ralph_survives(AgentCli::Claude, Victim::Both));
}

#[test]
fn claude_autopilot_goes_on_whoever_is_killed() {
    offline(&[AgentCli::Claude], || autopilot_survives(AgentCli::Claude));
}

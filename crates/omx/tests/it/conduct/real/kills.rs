//! A run with a real program, killed anywhere, resumes its conversations and repeats
//! no model request.

use omx_testkit::real_cli::{AgentCli, offline};

use super::kill_points::{self, KillPoint, KillTime, KillVictim};
use super::project::RealProject;
use super::{autopilot, ralph};

/// Ralph, where the same victim is killed each time.
fn ralph_survives(cli: AgentCli, victim: KillVictim) {
    let blow = |when, script, turn| KillPoint::new(victim, when, script, turn);
    let kills = match victim {
        // Between steps there is no agent.
        KillVictim::Agent => vec![
            blow(KillTime::Asked, "work", 0),
            blow(KillTime::Asked, "work", 1),
            blow(KillTime::Asked, "fix", 0),
            blow(KillTime::Asked, "fix", 1),
            blow(KillTime::Asked, "verify", 0),
            blow(KillTime::Asked, "tidy", 0),
        ],
        KillVictim::Omx | KillVictim::Both => vec![
            // No message yet: the conversation may be lost with the program.
            blow(KillTime::Named("work"), "work", 0),
            blow(KillTime::Asked, "work", 0),
            blow(KillTime::Asked, "work", 1),
            blow(KillTime::Checking, "", 0),
            blow(KillTime::Asked, "fix", 0),
            blow(KillTime::Finished("check2"), "verify", 0),
            blow(KillTime::Asked, "tidy", 0),
        ],
    };
    ralph_survives_at(&RealProject::new(cli, ralph::scripts()), &kills, &["work"]);
}

/// Ralph through these kills; these steps may be restarted.
fn ralph_survives_at(project: &RealProject, kills: &[KillPoint], anew: &[&str]) {
    let check = kill_points::check(project);
    let args = ["--check", &check, "--verify", "thorough", "greet people by name"];
    let outcome = kill_points::run(project, "ralph", &args, kills);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    ralph::assert_complete(project, &check);
    let lost: Vec<_> = kills.iter().map(|blow| blow.held).collect();
    project.assert_books_of(&ralph::STEPS, &lost, anew);
    assert_opened(project, kills);
}

/// Autopilot, where every victim is killed in turn.
fn autopilot_survives(cli: AgentCli) {
    use KillVictim::{Agent, Both, Omx};
    let project = RealProject::new(cli, autopilot::scripts());
    let kills = [
        KillPoint::new(Omx, KillTime::Asked, "draft1", 0),
        KillPoint::new(Both, KillTime::Asked, "critic", 0),
        KillPoint::new(Agent, KillTime::Asked, "work1", 1),
        // One lane is done, the other is not.
        KillPoint::new(Omx, KillTime::AskedAfter("c1.review.architect"), "code1", 0),
        KillPoint::new(Agent, KillTime::Asked, "draft2", 0),
        KillPoint::new(Both, KillTime::Asked, "work2", 1),
        KillPoint::new(Both, KillTime::AskedAfter("c2.review.architect"), "code2", 0),
    ];
    let outcome = kill_points::run(&project, "autopilot", &autopilot::ARGS, &kills);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    autopilot::assert_complete(&project);
    let lost: Vec<_> = kills.iter().map(|blow| blow.held).collect();
    project.assert_books(&autopilot::STEPS, &lost);
    assert_opened(&project, &kills);
}

/// Asserts that the journal has every process that opened the run.
#[track_caller]
fn assert_opened(project: &RealProject, kills: &[KillPoint]) {
    let killed = kills.iter().filter(|blow| blow.victim != KillVictim::Agent).count();
    let opened = project.journal().iter().filter(|record| record["kind"] == "opened").count();
    assert_eq!(opened, 1 + killed);
    assert_eq!(project.closed(), ["complete"]);
}

#[test]
fn codex_ralph_resumes_after_omx_is_killed() {
    offline(&[AgentCli::Codex], || ralph_survives(AgentCli::Codex, KillVictim::Omx));
}

#[test]
fn codex_ralph_resumes_after_codex_is_killed() {
    offline(&[AgentCli::Codex], || ralph_survives(AgentCli::Codex, KillVictim::Agent));
}

#[test]
fn codex_ralph_resumes_after_both_are_killed() {
    offline(&[AgentCli::Codex], || ralph_survives(AgentCli::Codex, KillVictim::Both));
}

#[test]
fn codex_ralph_resumes_without_an_app_server() {
    offline(&[AgentCli::Codex], || {
        let project = RealProject::with_old_codex(ralph::scripts());
        let kills = [
            KillPoint::new(KillVictim::Omx, KillTime::Asked, "work", 0),
            KillPoint::new(KillVictim::Both, KillTime::Asked, "work", 1),
            KillPoint::new(KillVictim::Agent, KillTime::Asked, "fix", 1),
            KillPoint::new(KillVictim::Omx, KillTime::Asked, "tidy", 0),
        ];
        ralph_survives_at(&project, &kills, &[]);
    });
}

#[test]
fn codex_autopilot_resumes_after_any_kill() {
    offline(&[AgentCli::Codex], || autopilot_survives(AgentCli::Codex));
}

#[test]
fn claude_ralph_resumes_after_omx_is_killed() {
    offline(&[AgentCli::Claude], || ralph_survives(AgentCli::Claude, KillVictim::Omx));
}

#[test]
fn claude_ralph_resumes_after_claude_is_killed() {
    offline(&[AgentCli::Claude], || ralph_survives(AgentCli::Claude, KillVictim::Agent));
}

#[test]
fn claude_ralph_resumes_after_both_are_killed() {
    offline(&[AgentCli::Claude], || ralph_survives(AgentCli::Claude, KillVictim::Both));
}

#[test]
fn claude_autopilot_resumes_after_any_kill() {
    offline(&[AgentCli::Claude], || autopilot_survives(AgentCli::Claude));
}

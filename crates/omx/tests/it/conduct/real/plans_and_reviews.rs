//! Ralplan and code-review with the real programs: a critic who objects once,
//! and two lanes that do not agree.

use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::journal_checks::{asks, own};
use super::parts::{self, after, answers, lane};
use super::project::RealProject;

const OPEN: &str = "Nothing is said about a missing name";

fn a_critic_objects_once(cli: AgentCli) {
    let (architect, critic) = (lane("architect"), lane("critic"));
    let words = parts::REVIEW_PLAN;
    let rejects = parts::review("critic", "REQUEST CHANGES", &[OPEN]);
    let project = RealProject::new(
        cli,
        [
            answers("draft", &[parts::DRAFT], parts::plan("Greet people")),
            answers("architect", &[words, &architect], parts::review("architect", "APPROVE", &[])),
            answers("rejects", &[words, &critic, &after("draft")], rejects),
            answers(
                "revise",
                &[parts::REVISE, &after("critic1")],
                parts::plan("Greet people and the world"),
            ),
            answers(
                "approves",
                &[words, &critic, &after("revise1")],
                parts::review("critic", "APPROVE", &[]),
            ),
        ],
    );
    let outcome = project.run("ralplan", &["greet people by name"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    let document = project.document("ralplan");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("finish")));
    assert_eq!(document["current_phase"], "complete");
    assert_eq!(document["iteration"], 2, "{document:#}");
    assert_eq!(document["consensus"], json!({"critic": "APPROVE", "architect": "APPROVE"}));
    let named = |kind: &str| format!(".omx/plans/{kind}-greet-people-by-name-{}.md", project.id());
    assert_eq!(document["plan_path"], named("prd"));
    assert_eq!(document["test_spec_path"], named("test-spec"));
    let plan = project.home.read(document["plan_path"].as_str().unwrap());
    assert!(plan.starts_with("# Greet people and the world\n"), "{plan}");
    let tests = project.home.read(document["test_spec_path"].as_str().unwrap());
    assert!(tests.starts_with("# Tests\n"), "{tests}");
    assert!(outcome.stdout.contains(document["plan_path"].as_str().unwrap()), "{outcome:#?}");
    assert_eq!(project.commits(), Vec::<String>::new());
    assert_eq!(project.closed(), ["complete"]);
    // The reviser receives the objection.
    let revise = project.server.turns("revise")[0].body.to_string();
    assert!(revise.contains(OPEN), "{revise}");
    project.assert_left_alone();
    project.assert_books(
        &[
            asks("draft", "draft", 1),
            asks("architect1", "architect", 1),
            asks("critic1", "rejects", 1),
            own("keep1"),
            asks("revise1", "revise", 1),
            asks("architect2", "architect", 1),
            asks("critic2", "approves", 1),
            own("keep2"),
        ],
        &[],
    );
}

/// The code is fine, its placement is not: with this verdict and these findings.
fn the_lanes_disagree(cli: AgentCli, word: &str, findings: &[&str]) {
    let (code, architect) = (lane("code"), lane("architect"));
    let project = RealProject::new(
        cli,
        [
            answers("code", &[parts::REVIEW, &code], parts::review("code", "APPROVE", &[])),
            answers(
                "architect",
                &[parts::REVIEW, &architect],
                parts::review("architect", word, findings),
            ),
        ],
    );
    let outcome = project.run("code-review", &[]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?} {:#?}", project.server.seen());
    assert!(outcome.stdout.contains(&format!("APPROVE, {word}")), "{outcome:#?}");
    let document = project.document("code-review");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("finish")));
    assert_eq!(document["current_phase"], "complete");
    let verdict = &document["review_verdict"];
    assert_eq!(verdict["recommendation"], "APPROVE");
    assert_eq!(verdict["architectural_status"], word);
    assert_eq!(verdict["clean"], false);
    let titles = verdict["findings"].as_array().unwrap().iter().map(|found| &found["title"]);
    assert_eq!(titles.collect::<Vec<_>>(), findings);
    assert_eq!(project.closed(), ["complete"]);
    // The review runs in the checkout: no branch, no worktree.
    assert_eq!(project.git(&["branch", "--list", "omx-run/*"]), "");
    assert_eq!(project.git(&["worktree", "list"]).lines().count(), 1);
    project.assert_left_alone();
    project.assert_books(&[asks("code", "code", 1), asks("architect", "architect", 1)], &[]);
}

#[test]
fn codex_ralplan_revises_what_a_critic_rejects() {
    offline(&[AgentCli::Codex], || a_critic_objects_once(AgentCli::Codex));
}

#[test]
fn claude_ralplan_revises_what_a_critic_rejects() {
    offline(&[AgentCli::Claude], || a_critic_objects_once(AgentCli::Claude));
}

#[test]
fn codex_code_review_is_not_clean_when_the_architect_watches() {
    offline(&[AgentCli::Codex], || the_lanes_disagree(AgentCli::Codex, "WATCH", &[]));
}

#[test]
fn claude_code_review_is_not_clean_when_the_architect_blocks() {
    offline(&[AgentCli::Claude], || {
        the_lanes_disagree(AgentCli::Claude, "BLOCK", &["A script has no place here"])
    });
}

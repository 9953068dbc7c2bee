//! Autopilot with each of the real programs: a rejected review, a new plan, and
//! then completion.

use omx_testkit::await_condition;
use omx_testkit::model::{ModelScript, ReplyProgress};
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::journal_checks::{ExpectedSteps, asks, own};
use super::parts::{self, after, answers, lane, works};
use super::project::{DEADLINE, RealProject};

const FINDING: &str = "Nobody is told how to call it";

/// Two cycles: the first ends in a rejected review.
pub fn scripts() -> Vec<ModelScript> {
    let (first, second) = (after("c1.plan.draft"), after("c2.plan.draft"));
    let (built, again) = (after("c1.build.tidy1"), after("c2.build.tidy1"));
    let comment = "sed -i '1i # usage: sh greet.sh [NAME]' greet.sh";
    let (code, architect, critic) = (lane("code"), lane("architect"), lane("critic"));
    let words = parts::REVIEW_PLAN;
    vec![
        answers("draft1", &[parts::DRAFT], parts::plan("Greet people")),
        answers("architect", &[words, &architect], parts::review("architect", "APPROVE", &[])),
        answers("critic", &[words, &critic], parts::review("critic", "APPROVE", &[])),
        works("work1", &[parts::BUILD, &first], parts::RIGHT, parts::work("greet.sh greets")),
        answers("verify", &[parts::VERIFY], parts::verified()),
        answers("tidy", &[parts::TIDY], parts::looked("Nothing to tidy.")),
        answers(
            "code1",
            &[parts::REVIEW, &code, &built],
            parts::review("code", "REQUEST CHANGES", &[FINDING]),
        ),
        answers("clear", &[parts::REVIEW, &architect], parts::review("architect", "CLEAR", &[])),
        answers(
            "draft2",
            &[parts::DRAFT_AGAIN, &after("c1.review.code")],
            parts::plan("Say how to call it"),
        ),
        works("work2", &[parts::BUILD, &second], comment, parts::work("greet.sh says how")),
        answers("code2", &[parts::REVIEW, &code, &again], parts::review("code", "APPROVE", &[])),
    ]
}

pub const ARGS: [&str; 5] =
    ["--check", "sh check.sh", "--verify", "standard", "greet people by name"];

pub const STEPS: [ExpectedSteps<'_>; 22] = [
    asks("c1.plan.draft", "draft1", 1),
    asks("c1.plan.architect1", "architect", 1),
    asks("c1.plan.critic1", "critic", 1),
    own("c1.plan.keep1"),
    asks("c1.build.work", "work1", 2),
    own("c1.build.check1"),
    asks("c1.build.verifier1", "verify", 1),
    asks("c1.build.tidy1", "tidy", 1),
    own("c1.build.recheck1"),
    asks("c1.review.code", "code1", 1),
    asks("c1.review.architect", "clear", 1),
    asks("c2.plan.draft", "draft2", 1),
    asks("c2.plan.architect1", "architect", 1),
    asks("c2.plan.critic1", "critic", 1),
    own("c2.plan.keep1"),
    asks("c2.build.work", "work2", 2),
    own("c2.build.check1"),
    asks("c2.build.verifier1", "verify", 1),
    asks("c2.build.tidy1", "tidy", 1),
    own("c2.build.recheck1"),
    asks("c2.review.code", "code2", 1),
    asks("c2.review.architect", "clear", 1),
];

/// Asserts the documents while the second plan is made.
#[track_caller]
fn assert_replanning(project: &RealProject) {
    let document = project.document("autopilot");
    assert_eq!(document["active"], true);
    assert_eq!(document["current_phase"], "ralplan");
    assert_eq!((&document["iteration"], &document["review_cycle"]), (&json!(2), &json!(1)));
    let verdict = &document["review_verdict"];
    assert_eq!(verdict["recommendation"], "REQUEST CHANGES");
    assert_eq!(verdict["architectural_status"], "CLEAR");
    assert_eq!(verdict["clean"], false);
    assert_eq!(verdict["findings"][0]["title"], FINDING);
    let reason = document["return_to_ralplan_reason"].as_str().unwrap();
    assert!(reason.contains(FINDING), "{reason}");
    assert_eq!(document["handoff_artifacts"]["code_review"]["verdict"], *verdict);
    let plan = project.document("ralplan");
    assert_eq!((&plan["active"], &plan["current_phase"]), (&json!(true), &json!("draft")));
    assert_eq!(project.document("ralph")["run_outcome"], "finish");
    assert_eq!(project.document("code-review")["review_verdict"]["clean"], false);
}

/// Asserts what a completed autopilot leaves.
#[track_caller]
pub fn assert_complete(project: &RealProject) {
    let document = project.document("autopilot");
    assert_eq!(document["active"], false);
    assert_eq!(document["current_phase"], "complete");
    assert_eq!(document["run_outcome"], "finish");
    assert_eq!((&document["iteration"], &document["review_cycle"]), (&json!(2), &json!(1)));
    assert_eq!(document["phase_cycle"], json!(["ralplan", "ralph", "code-review"]));
    assert!(document["return_to_ralplan_reason"].is_null());
    let verdict = json!({
        "recommendation": "APPROVE", "architectural_status": "CLEAR", "clean": true,
        "findings": [],
    });
    assert_eq!(document["review_verdict"], verdict);
    let handed = &document["handoff_artifacts"];
    let read = |path: &serde_json::Value| project.home.read(path.as_str().unwrap());
    assert!(read(&handed["ralplan"]["plan_path"]).contains("# Say how to call it"));
    assert!(read(&handed["ralplan"]["test_spec_path"]).contains("sh check.sh"));
    assert!(read(&handed["context_snapshot_path"]).contains("greet people by name"));
    assert_eq!(handed["ralph"]["changed_files"], json!(["greet.sh"]));
    assert_eq!(handed["ralph"]["evidence"][0], json!({"command": "sh check.sh", "exit_code": 0}));
    assert_eq!(handed["code_review"]["verdict"], verdict);
    for mode in ["ralplan", "ralph", "code-review"] {
        let part = project.document(mode);
        assert_eq!(part["linked_to"], "autopilot", "{part:#}");
        assert_eq!(part["active"], false);
        assert_eq!(part["run_outcome"], "finish");
    }
    assert_eq!(project.closed().last().unwrap(), "complete");
    assert_eq!(project.commits(), ["greet.sh greets", "greet.sh says how"]);
    let greet = project.on_branch("greet.sh");
    assert_eq!(greet, "# usage: sh greet.sh [NAME]\necho \"Hello, ${1:-world}!\"\n");
    project.assert_left_alone();
}

fn replans_after_a_rejected_review(cli: AgentCli) {
    let project = RealProject::new(cli, scripts());
    project.server.hold("draft2", 0);
    let mut driven = project.start("autopilot", &ARGS);
    await_condition("the second plan is asked for", DEADLINE, || {
        assert!(!driven.is_over(), "{:#?}", project.journal());
        let turns = project.server.turns("draft2");
        turns.iter().any(|turn| turn.progress == ReplyProgress::Waiting)
    });
    assert_replanning(&project);
    // The planner reads the findings first.
    let requested = project.server.turns("draft2")[0].body.to_string();
    assert!(requested.contains(FINDING), "{requested}");
    project.server.release("draft2", 0);
    let outcome = driven.outcome();
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    assert_complete(&project);
    project.assert_books(&STEPS, &[]);
}

#[test]
fn codex_autopilot_replans_after_a_rejected_review() {
    offline(&[AgentCli::Codex], || replans_after_a_rejected_review(AgentCli::Codex));
}

#[test]
fn claude_autopilot_replans_after_a_rejected_review() {
    offline(&[AgentCli::Claude], || replans_after_a_rejected_review(AgentCli::Claude));
}

#[test]
fn gemini_autopilot_replans_after_a_rejected_review() {
    offline(&[AgentCli::Gemini], || replans_after_a_rejected_review(AgentCli::Gemini));
}

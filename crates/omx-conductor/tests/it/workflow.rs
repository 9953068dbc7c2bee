//! The workflows, played with answers of all kinds.

use omx_conductor::workflow::{Step, StepKind, WorkflowEnd};
use omx_kernel::Mode;
use serde_json::{Value, json};

use crate::kit::{check, good, play, play_in, review, spec, stage, verification, work};

fn named(step: &Step, name: &str) -> bool {
    step.key.as_str() == name
}

#[test]
fn an_autopilot_without_findings_runs_one_cycle() {
    let whole = play(&spec(Mode::Autopilot), good);
    assert_eq!(whole.end, WorkflowEnd::Complete("did it".to_owned()));
    assert_eq!(
        whole.names(),
        [
            "c1.plan.draft",
            "c1.plan.architect1",
            "c1.plan.critic1",
            "c1.plan.keep1",
            "c1.build.work",
            "c1.build.check1",
            "c1.build.verifier1",
            "c1.build.architect1",
            "c1.build.tidy1",
            "c1.build.recheck1",
            "c1.review.code",
            "c1.review.architect",
        ]
    );
    assert_eq!(whole.phases(Mode::Autopilot), ["ralplan", "ralph", "code-review", "complete"]);
    assert_eq!(whole.phases(Mode::Ralph), ["starting", "executing", "verifying", "complete"]);
}

#[test]
fn a_review_that_is_not_clean_leads_back_to_the_plan() {
    let answer = |step: &Step| match step.key.as_str() {
        "c1.review.code" => review("code", "REQUEST CHANGES", &["no test"]),
        "c1.plan.critic1" => review("critic", "REQUEST CHANGES", &["vague"]),
        "c1.build.check1" => check(1),
        _ => good(step),
    };
    let whole = play(&spec(Mode::Autopilot), answer);
    assert!(matches!(whole.end, WorkflowEnd::Complete(_)), "{:?}", whole.end);
    assert_eq!(
        whole.phases(Mode::Autopilot),
        ["ralplan", "ralph", "code-review", "ralplan", "ralph", "code-review", "complete"]
    );
    let names = whole.names();
    for name in
        ["c1.plan.revise1", "c1.plan.critic2", "c1.build.fix1", "c1.build.check2", "c2.plan.draft"]
    {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

#[test]
fn the_same_finding_three_times_ends_an_autopilot() {
    let answer = |step: &Step| {
        if step.key.as_str().ends_with("review.code") {
            review("code", "REQUEST CHANGES", &["no test"])
        } else {
            good(step)
        }
    };
    let whole = play(&spec(Mode::Autopilot), answer);
    assert!(matches!(&whole.end, WorkflowEnd::Failed(_)), "{:?}", whole.end);
    assert!(!whole.names().contains(&"c4.plan.draft"));
}

#[test]
fn five_rounds_without_consensus_end_a_plan() {
    let answer = |step: &Step| {
        if step.key.as_str().starts_with("critic") {
            review("critic", "REQUEST CHANGES", &["vague"])
        } else {
            good(step)
        }
    };
    let whole = play(&spec(Mode::Ralplan), answer);
    assert!(matches!(&whole.end, WorkflowEnd::Limit(_)), "{:?}", whole.end);
    assert_eq!(whole.names().iter().filter(|name| name.starts_with("critic")).count(), 5);
}

#[test]
fn ralph_fixes_until_check_and_verification_pass() {
    let answer = |step: &Step| match step.key.as_str() {
        "check1" => check(1),
        "verifier2" => verification(false),
        _ => good(step),
    };
    let whole = play(&spec(Mode::Ralph), answer);
    assert!(matches!(whole.end, WorkflowEnd::Complete(_)), "{:?}", whole.end);
    assert_eq!(
        whole.names(),
        [
            "work",
            "check1",
            "fix1",
            "check2",
            "verifier2",
            "fix2",
            "check3",
            "verifier3",
            "architect3",
            "tidy3",
            "recheck3"
        ]
    );
}

#[test]
fn work_that_says_it_is_blocked_asks_the_person() {
    let answer = |step: &Step| {
        if named(step, "work") {
            json!({"summary": "s", "changed_files": [], "commands": [], "done": false, "blocked_reason": "no key"})
        } else {
            good(step)
        }
    };
    let whole = play(&spec(Mode::Ralph), answer);
    assert_eq!(whole.end, WorkflowEnd::Blocked("no key".to_owned()));
}

#[test]
fn lanes_that_disagree_are_not_clean() {
    let answer = |step: &Step| -> Value {
        if named(step, "architect") {
            review("architect", "BLOCK", &["layers"])
        } else {
            good(step)
        }
    };
    let whole = play(&spec(Mode::CodeReview), answer);
    let WorkflowEnd::Complete(words) = &whole.end else { panic!("{:?}", whole.end) };
    assert!(words.starts_with("Not clean: APPROVE, BLOCK: layers"), "{words}");
}

#[test]
fn ultraqa_gives_up_after_the_same_failure_three_times() {
    let answer = |step: &Step| if step.kind == StepKind::Check { check(1) } else { good(step) };
    let whole = play(&spec(Mode::Ultraqa), answer);
    assert!(matches!(&whole.end, WorkflowEnd::Failed(_)), "{:?}", whole.end);
    assert_eq!(whole.names().iter().filter(|name| name.starts_with("check")).count(), 3);
}

#[test]
fn a_pipeline_stops_at_the_stage_that_fails() {
    let answer = |step: &Step| if named(step, "stage3") { verification(false) } else { good(step) };
    let whole = play(&spec(Mode::Pipeline), answer);
    assert!(
        matches!(&whole.end, WorkflowEnd::Failed(why) if why.contains("prove")),
        "{:?}",
        whole.end
    );
    let whole = play(&spec(Mode::Pipeline), good);
    assert_eq!(whole.names(), ["stage1", "stage2", "stage3"]);
    assert_eq!(whole.phases(Mode::Pipeline), ["stage:build", "stage:prove", "complete"]);
}

fn never_passes(step: &Step) -> Value {
    if step.kind == StepKind::Check { check(1) } else { good(step) }
}

#[test]
fn modes_4_3_ralph_ends_at_its_limit() {
    let mut run = spec(Mode::Ralph);
    run.max_iterations = Some(3);
    let whole = play_in(&run, never_passes, |step| Some(step.key.to_string()));
    assert_eq!(whole.end, WorkflowEnd::Limit("max_iterations reached".to_owned()));
    assert_eq!(whole.names(), ["work", "check1", "fix1", "check2", "fix2", "check3"]);
}

#[test]
fn modes_4_3_ralph_pauses_when_five_fixes_in_a_row_change_nothing() {
    let whole = play_in(&spec(Mode::Ralph), never_passes, |_| Some("same".to_owned()));
    let WorkflowEnd::Blocked(why) = &whole.end else { panic!("{:?}", whole.end) };
    assert!(why.starts_with("no progress") && why.ends_with("sh check.sh: exit 1"), "{why}");
    assert_eq!(whole.names().last(), Some(&"fix5"));
}

#[test]
fn r15_a_ralph_that_is_slow_but_moves_is_not_paused() {
    let mut run = spec(Mode::Ralph);
    run.max_iterations = Some(12);
    let moves = |step: &Step| Some(step.key.to_string());
    assert!(matches!(play_in(&run, never_passes, moves).end, WorkflowEnd::Limit(_)));
    // Without a git repository, other words count as progress.
    let says_more = |step: &Step| match step.kind {
        StepKind::Agent(_) => work(step.key.as_str()),
        _ => never_passes(step),
    };
    let other_words = |step: &Step| if named(step, "work") { good(step) } else { says_more(step) };
    assert!(matches!(play(&run, other_words).end, WorkflowEnd::Limit(_)));
    assert!(matches!(play(&run, never_passes).end, WorkflowEnd::Blocked(_)));
}

#[test]
fn the_limit_of_a_part_is_a_limit_of_the_autopilot() {
    let answer = |step: &Step| {
        if step.key.as_str().contains("critic") {
            review("critic", "REQUEST CHANGES", &["vague"])
        } else {
            good(step)
        }
    };
    let whole = play(&spec(Mode::Autopilot), answer);
    assert_eq!(whole.end, WorkflowEnd::Limit("max_iterations reached".to_owned()));
    let last = whole.changes.last().unwrap();
    assert_eq!((last.mode, &last.fields["run_outcome"]), (Mode::Autopilot, &json!("failed")));
}

#[test]
fn an_autopilot_that_changes_no_file_asks_the_person() {
    let answer = |step: &Step| {
        let mut value = good(step);
        if value.get("changed_files").is_some() {
            value["changed_files"] = json!([]);
        }
        value
    };
    let whole = play(&spec(Mode::Autopilot), answer);
    assert!(
        matches!(&whole.end, WorkflowEnd::Blocked(why) if why.contains("no file")),
        "{:?}",
        whole.end
    );
}

#[test]
fn a_pipeline_that_is_autopilots_has_its_bare_phases() {
    let mut run = spec(Mode::Pipeline);
    run.stages = vec![
        stage("ralplan", "planner"),
        stage("ralph", "executor"),
        stage("code-review", "code-reviewer"),
    ];
    let whole = play(&run, good_in_pipeline);
    assert!(matches!(whole.end, WorkflowEnd::Complete(_)), "{:?}", whole.end);
    assert_eq!(whole.phases(Mode::Pipeline), ["ralph", "code-review", "complete"]);
    let last = whole.changes.last().unwrap();
    assert_eq!(last.fields["review_verdict"]["clean"], true, "{:?}", last.fields);

    // A review that is not clean leads back to the plan, as in autopilot.
    let answer = |step: &Step| match step.key.as_str() {
        "c1.review.code" => review("code", "REQUEST CHANGES", &["it leaks"]),
        _ => good_in_pipeline(step),
    };
    let whole = play(&run, answer);
    assert!(matches!(whole.end, WorkflowEnd::Complete(_)), "{:?}", whole.end);
    assert_eq!(
        whole.phases(Mode::Pipeline),
        ["ralph", "code-review", "ralplan", "ralph", "code-review", "complete"]
    );
    // The same finding again and again fails the run.
    let answer = |step: &Step| match step.key.as_str().ends_with("review.code") {
        true => review("code", "REQUEST CHANGES", &["it leaks"]),
        false => good_in_pipeline(step),
    };
    let whole = play(&run, answer);
    assert!(matches!(whole.end, WorkflowEnd::Failed(_)), "{:?}", whole.end);
    let last = whole.changes.last().unwrap();
    assert_eq!(last.mode, Mode::Pipeline);
}

fn good_in_pipeline(step: &Step) -> Value {
    match &step.kind {
        StepKind::Agent(agent) if agent.wants.as_str() == "work" => work("did it"),
        _ => good(step),
    }
}

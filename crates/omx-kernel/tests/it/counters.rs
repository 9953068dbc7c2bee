//! modes.md 2.2, 2.4, 2.6, 4.5: what counts, that limits can only be lowered, and that a
//! reached limit is recorded as `failed` without losing state.

use omx_kernel::{Document, GiveUpReason, Mode, RefusalCode};

use crate::support::{SessionWorld, assert_ended};

fn open_review(title: &str, more: &str) -> String {
    format!(
        r#"{{"current_phase":"ralplan","review_verdict":{{"recommendation":"REQUEST CHANGES","architectural_status":"CLEAR","clean":false,"findings":[{{"title":"{title}","file":"a.rs"}}]}},"return_to_ralplan_reason":"{title}","handoff_artifacts":{{"code_review":{{"n":1}}}}{more}}}"#
    )
}

/// Autopilot in its review, in this iteration and with this limit.
fn in_review(iteration: u64, limit: u64) -> SessionWorld {
    let more = format!(
        r#","iteration":{iteration},"max_iterations":{limit},"review_cycle":0,"handoff_artifacts":{{"ralplan":{{"plan":"p.md","test_spec":"t.md"}},"ralph":{{"changed_files":["a.rs"],"evidence":[{{"command":"make","exit_code":0}}]}}}}"#
    );
    SessionWorld::live(Mode::Autopilot, "code-review", &more).files(&["p.md", "t.md"])
}

/// Moves through plan and implementation to the next review.
fn to_review(world: &mut SessionWorld) {
    world.write(Mode::Autopilot, &format!(r#"{{"current_phase":"ralph",{PLAN}}}"#));
    world.write(Mode::Autopilot, &format!(r#"{{"current_phase":"code-review",{WORK}}}"#));
}

const PLAN: &str = r#""handoff_artifacts":{"ralplan":{"plan":"p.md","test_spec":"t.md"}}"#;
const WORK: &str = r#""handoff_artifacts":{"ralph":{"changed_files":["a.rs"],"evidence":[{"command":"make","exit_code":0}]}}"#;

#[test]
fn modes_2_2_a_review_that_is_not_clean_returns_to_ralplan_and_counts_once() {
    let mut world = in_review(1, 10);
    let document = world.write(Mode::Autopilot, &open_review("leak", ""));
    assert_eq!(document.phase(), Some("ralplan"));
    assert_eq!(document.get_u64("iteration"), Some(2));
    assert_eq!(document.get_u64("review_cycle"), Some(1));
    assert_eq!(document.get_str("return_to_ralplan_reason"), Some("leak"));
    let verdict = document.get("review_verdict").unwrap();
    assert_eq!(verdict.get("clean").unwrap().as_bool(), Some(false));
    assert_eq!(verdict.get("recommendation").unwrap().as_str(), Some("REQUEST CHANGES"));
    let handoffs = document.get("handoff_artifacts").unwrap();
    assert_eq!(handoffs.get("code_review").unwrap().as_json(), r#"{"n":1}"#);
    // The hand-offs of the cycle are history, and its gates want new ones.
    for name in ["ralplan", "ralph"] {
        assert!(handoffs.get(name).unwrap().is_null(), "{name}");
    }
    let history = document.get("history").unwrap().as_array().unwrap();
    let cycle = history[0].get("handoff_artifacts").unwrap();
    assert_eq!(cycle.get("ralplan").unwrap().get("plan").unwrap().as_str(), Some("p.md"));
    assert!(cycle.get("ralph").unwrap().get("evidence").is_some());
    assert_eq!(history[0].get("review_cycle").unwrap().as_u64(), Some(0));
}

#[test]
fn modes_2_2_each_cycle_needs_its_own_evidence() {
    let mut world = in_review(1, 10);
    for cycle in 1..=3 {
        // Even if the write repeats the hand-offs of the cycle that it closes.
        let again = open_review(&format!("finding {}", ["a", "b", "c"][cycle - 1]), "").replace(
            r#""code_review""#,
            r#""ralplan":{"plan":"p.md","test_spec":"t.md"},"code_review""#,
        );
        world.write(Mode::Autopilot, &again);
        let bare = r#"{"current_phase":"ralph"}"#;
        let refusal = world.write_refused(Mode::Autopilot, RefusalCode::IllegalTransition, bare);
        assert!(refusal.contains("handoff_artifacts.ralplan.plan_path"), "{refusal}");
        world.write(Mode::Autopilot, &format!(r#"{{"current_phase":"ralph",{PLAN}}}"#));
        let bare = r#"{"current_phase":"code-review"}"#;
        let refusal = world.write_refused(Mode::Autopilot, RefusalCode::IllegalTransition, bare);
        assert!(refusal.contains("handoff_artifacts.ralph.evidence"), "{refusal}");
        world.write(Mode::Autopilot, &format!(r#"{{"current_phase":"code-review",{WORK}}}"#));
        let history = world.get(Mode::Autopilot).get("history").unwrap().as_array().unwrap().len();
        assert_eq!(history, cycle);
    }
    world.write_refused(Mode::Autopilot, RefusalCode::InvalidInput, r#"{"history":[]}"#);
}

fn ralph_cycle(world: &mut SessionWorld, report: &str) -> Document {
    world.write(Mode::Ralph, &format!(r#"{{"current_phase":"fixing",{report}}}"#));
    if world.get(Mode::Ralph).is_active() {
        world.write(Mode::Ralph, r#"{"current_phase":"executing"}"#);
        world.write(Mode::Ralph, r#"{"current_phase":"verifying"}"#);
    }
    world.get(Mode::Ralph).clone()
}

#[test]
fn modes_2_2_the_same_verification_failure_in_three_cycles_fails_the_run() {
    for reports in [
        [
            r#""last_check":{"command":"make","exit_code":2,"failure":"E in line 1"}"#,
            r#""last_check":{"command":"make","exit_code":2,"failure":"e in line 20"}"#,
            r#""last_check":{"command":"make","exit_code":1,"failure":"E  in line 300"}"#,
        ],
        [
            r#""completion_audit":{"passed":false,"checklist":[{"item":"no leak","done":false}]}"#,
            r#""completion_audit":{"passed":false,"checklist":[{"item":"No leak","done":false}]}"#,
            r#""completion_audit":{"passed":false,"checklist":[{"item":"no leak","done":false}]}"#,
        ],
        [
            r#""verification":{"passed":false,"findings":[{"title":"leak","file":"a.rs"}]}"#,
            r#""verification":{"passed":false,"findings":[{"title":"Leak","file":"a.rs"}]}"#,
            r#""verification":{"passed":false,"findings":[{"title":"leak","file":"a.rs"}]}"#,
        ],
    ] {
        let mut world = SessionWorld::live(Mode::Ralph, "verifying", r#","iteration":4"#);
        assert!(ralph_cycle(&mut world, reports[0]).is_active());
        // Another failure in between does not make the first one new.
        let other = r#""last_check":{"command":"make","exit_code":2,"failure":"other"}"#;
        assert!(ralph_cycle(&mut world, other).is_active());
        assert!(ralph_cycle(&mut world, reports[1]).is_active());
        let document = ralph_cycle(&mut world, reports[2]);
        assert_ended(&document, "failed", "failed");
        assert!(document.get_str("error").unwrap().contains("verification"));
        assert_eq!(document.get_u64("iteration"), Some(4));
    }
    let mut world = SessionWorld::live(Mode::Ralph, "verifying", "");
    for _ in 0..5 {
        let vague = r#""last_check":{"command":"make","exit_code":2}"#;
        assert!(ralph_cycle(&mut world, vague).is_active(), "which failure is not known");
    }
    for _ in 0..5 {
        let passed = r#""last_check":{"command":"make","exit_code":0,"output":"fine"}"#;
        assert!(ralph_cycle(&mut world, passed).is_active());
    }
}

#[test]
fn modes_2_2_a_verdict_without_clean_is_stored_with_clean_false() {
    let input = r#"{"current_phase":"ralplan","review_verdict":{"recommendation":"COMMENT","architectural_status":"WATCH"},"return_to_ralplan_reason":"r","handoff_artifacts":{"code_review":["f"]}}"#;
    let document = in_review(1, 10).write(Mode::Autopilot, input);
    assert_eq!(
        document.get("review_verdict").unwrap().as_json(),
        r#"{"recommendation":"COMMENT","architectural_status":"WATCH","clean":false}"#
    );
}

#[test]
fn modes_2_2_the_counters_of_a_review_increase_by_exactly_one() {
    for right in [r#","iteration":2"#, r#","review_cycle":1"#, r#","iteration":2,"review_cycle":1"#]
    {
        in_review(1, 10).write(Mode::Autopilot, &open_review("leak", right));
    }
    for wrong in
        [r#","iteration":1"#, r#","iteration":3"#, r#","review_cycle":0"#, r#","review_cycle":2"#]
    {
        let input = open_review("leak", wrong);
        in_review(1, 10).write_refused(Mode::Autopilot, RefusalCode::InvalidInput, &input);
    }
}

#[test]
fn modes_4_5_the_iteration_of_a_review_fits_whatever_was_counted_before() {
    let both = r#","iteration":2,"review_cycle":1"#;
    for (counted, given, expected) in [(7, both, 2), (7, r#","iteration":8"#, 8), (7, "", 8)] {
        let document = in_review(counted, 10).write(Mode::Autopilot, &open_review("leak", given));
        assert_eq!(document.get_u64("iteration"), Some(expected));
        assert_eq!(document.get_u64("review_cycle"), Some(1));
    }
    let wrong = open_review("leak", r#","iteration":3"#);
    in_review(7, 10).write_refused(Mode::Autopilot, RefusalCode::InvalidInput, &wrong);
}

#[test]
fn modes_2_2_the_same_finding_in_three_cycles_fails_the_run_and_keeps_its_state() {
    let mut world = in_review(1, 10);
    for title in ["Leak in line 12", "leak  in line 140"] {
        assert!(world.write(Mode::Autopilot, &open_review(title, "")).is_active());
        to_review(&mut world);
    }
    let plan = world.try_write(Mode::Autopilot, &open_review("LEAK in line 3", "")).unwrap();
    assert!(plan.exhausted.unwrap().error().contains("LEAK in line 3"));
    let document = world.get(Mode::Autopilot);
    assert_ended(document, "failed", "failed");
    assert!(document.get_str("error").unwrap().contains("LEAK in line 3"));
    assert!(document.get("handoff_artifacts").unwrap().get("ralph").is_some());
    assert!(document.get("review_verdict").unwrap().get("findings").is_some());
    assert_eq!(document.get_u64("iteration"), Some(3));
}

#[test]
fn modes_2_2_new_findings_each_cycle_continue_up_to_max_iterations() {
    let mut world = in_review(1, 4);
    for title in ["alpha", "beta", "gamma"] {
        assert!(world.write(Mode::Autopilot, &open_review(title, "")).is_active());
        to_review(&mut world);
    }
    let plan = world.try_write(Mode::Autopilot, &open_review("delta", "")).unwrap();
    let limit = GiveUpReason::Limit("max_iterations reached".to_owned());
    assert_eq!(plan.exhausted, Some(limit));
    let document = world.get(Mode::Autopilot);
    assert_ended(document, "failed", "failed");
    assert_eq!(document.get_str("error"), Some("max_iterations reached"));
    assert_eq!(document.get_u64("iteration"), Some(4));
}

#[test]
fn modes_2_2_the_same_title_in_another_file_is_another_finding() {
    let mut world = in_review(1, 10);
    for file in ["a.rs", "b.rs", "c.rs"] {
        let input = open_review("leak", "").replace("a.rs", file);
        assert!(world.write(Mode::Autopilot, &input).is_active());
        to_review(&mut world);
    }
}

fn ralplan_rounds(world: &mut SessionWorld) -> Document {
    world.write(Mode::Ralplan, r#"{"current_phase":"revise"}"#);
    if world.get(Mode::Ralplan).is_active() {
        world.write(Mode::Ralplan, r#"{"current_phase":"architect-review"}"#);
        world.write(Mode::Ralplan, r#"{"current_phase":"critic-review"}"#);
    }
    world.get(Mode::Ralplan).clone()
}

#[test]
fn modes_2_4_ralplan_fails_after_five_revisions_and_keeps_the_last_plan() {
    let more = r#","iteration":0,"max_iterations":5,"plan_path":"p.md""#;
    let mut world = SessionWorld::live(Mode::Ralplan, "critic-review", more);
    for round in 1..=5 {
        assert_eq!(ralplan_rounds(&mut world).get_u64("iteration"), Some(round));
    }
    let document = ralplan_rounds(&mut world);
    assert_ended(&document, "failed", "failed");
    assert_eq!(document.get_str("error"), Some("max_iterations reached"));
    assert_eq!(document.get_str("plan_path"), Some("p.md"));
    assert_eq!(document.get_u64("iteration"), Some(5));
}

fn qa_cycle(world: &mut SessionWorld, check: &str) -> Document {
    let input = format!(r#"{{"current_phase":"diagnose","last_check":{check}}}"#);
    for step in [input.as_str(), r#"{"current_phase":"fix"}"#, r#"{"current_phase":"qa"}"#] {
        if world.get(Mode::Ultraqa).is_active() {
            world.write(Mode::Ultraqa, step);
        }
    }
    world.get(Mode::Ultraqa).clone()
}

#[test]
fn modes_2_6_ultraqa_fails_after_five_cycles() {
    let mut world = SessionWorld::live(Mode::Ultraqa, "qa", r#","iteration":0,"max_iterations":5"#);
    for (round, failure) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        let check = format!(r#"{{"command":"make","exit_code":2,"failure":"{failure}"}}"#);
        assert_eq!(qa_cycle(&mut world, &check).get_u64("iteration"), Some(round as u64 + 1));
    }
    let document = qa_cycle(&mut world, r#"{"command":"make","exit_code":2,"failure":"f"}"#);
    assert_ended(&document, "failed", "failed");
    assert_eq!(document.get_str("error"), Some("max_iterations reached"));
}

#[test]
fn modes_2_6_the_same_failure_three_times_fails_the_run_with_the_diagnosis() {
    let mut world = SessionWorld::live(Mode::Ultraqa, "qa", r#","diagnosis":"why""#);
    for line in [12, 40] {
        let check = format!(r#"{{"command":"make","exit_code":2,"failure":"E in line {line}"}}"#);
        assert!(qa_cycle(&mut world, &check).is_active());
    }
    let document =
        qa_cycle(&mut world, r#"{"command":"make","exit_code":1,"failure":"e in line 9"}"#);
    assert_ended(&document, "failed", "failed");
    assert!(document.get_str("error").unwrap().contains("make"));
    assert_eq!(document.get_str("diagnosis"), Some("why"));
}

#[test]
fn modes_2_6_failures_without_details_never_count_as_the_same() {
    let mut world = SessionWorld::live(Mode::Ultraqa, "qa", "");
    for _ in 0..4 {
        assert!(qa_cycle(&mut world, r#"{"command":"make","exit_code":2}"#).is_active());
    }
}

#[test]
fn modes_2_1_entering_team_fix_counts_and_the_fourth_time_fails() {
    let mut world = SessionWorld::live(Mode::Team, "team-verify", "");
    for count in 1..=3 {
        let document = world.write(Mode::Team, r#"{"current_phase":"team-fix"}"#);
        assert_eq!(document.get_u64("fix_loop_count"), Some(count));
        world.write(Mode::Team, r#"{"current_phase":"team-exec"}"#);
        world.write(Mode::Team, r#"{"current_phase":"team-verify"}"#);
    }
    let mut wrong = world.clone();
    let input = r#"{"current_phase":"team-fix","fix_loop_count":9}"#;
    wrong.write_refused(Mode::Team, RefusalCode::InvalidInput, input);
    let document = world.write(Mode::Team, r#"{"current_phase":"team-fix"}"#);
    assert_ended(&document, "failed", "failed");
    assert_eq!(document.get_str("error"), Some("max_fix_loops reached"));
    assert_eq!(document.get_u64("fix_loop_count"), Some(3));
}

#[test]
fn modes_4_5_a_limit_of_a_live_run_can_be_lowered_but_not_raised() {
    for mode in Mode::ALL {
        let phase = mode.spec().phases.first().copied().unwrap_or("stage:1");
        let mut world = SessionWorld::live(mode, phase, r#","iteration":2,"max_iterations":8"#);
        for raised in ["9", "1000000"] {
            let input = format!(r#"{{"max_iterations":{raised}}}"#);
            world.write_refused(mode, RefusalCode::InvalidInput, &input);
            let nested = format!(r#"{{"active":true,"state":{input}}}"#);
            world.write_refused(mode, RefusalCode::InvalidInput, &nested);
        }
        assert_eq!(world.write(mode, r#"{"max_iterations":8}"#).get_u64("max_iterations"), Some(8));
        assert_eq!(world.write(mode, r#"{"max_iterations":3}"#).get_u64("max_iterations"), Some(3));
        world.write_refused(mode, RefusalCode::InvalidInput, r#"{"max_iterations":4}"#);
    }
}

#[test]
fn modes_4_5_a_live_run_without_a_limit_has_the_default() {
    for (mode, limit) in
        [(Mode::Ralph, 50), (Mode::Autopilot, 10), (Mode::Ultraqa, 5), (Mode::CodeReview, 1)]
    {
        let mut world = SessionWorld::live(mode, mode.spec().phases[0], "");
        let input = format!(r#"{{"max_iterations":{}}}"#, limit + 1);
        world.write_refused(mode, RefusalCode::InvalidInput, &input);
        world.write(mode, &format!(r#"{{"max_iterations":{limit}}}"#));
    }
    let mut world = SessionWorld::live(Mode::Team, "team-exec", "");
    world.write_refused(Mode::Team, RefusalCode::InvalidInput, r#"{"max_fix_loops":4}"#);
    world.write(Mode::Team, r#"{"max_fix_loops":2}"#);
}

#[test]
fn modes_4_5_a_start_may_set_any_limit() {
    let document =
        SessionWorld::new().write(Mode::Ralph, r#"{"active":true,"max_iterations":5000}"#);
    assert_eq!(document.get_u64("max_iterations"), Some(5000));
}

#[test]
fn modes_4_5_ending_and_resuming_neither_raises_limits_nor_lowers_counters() {
    let more = r#","iteration":4,"max_iterations":4"#;
    let mut world = SessionWorld::live(Mode::Ralph, "executing", more);
    world.write(Mode::Ralph, r#"{"run_outcome":"failed"}"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"max_iterations":100}"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"iteration":0}"#);
    world.write_refused(
        Mode::Ralph,
        RefusalCode::InvalidInput,
        r#"{"resume":true,"max_iterations":100}"#,
    );
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"resume":true,"iteration":0}"#);
    let document = world.write(Mode::Ralph, r#"{"resume":true}"#);
    assert_eq!(document.get_u64("max_iterations"), Some(4));
    assert_eq!(document.get_u64("iteration"), Some(4));
}

#[test]
fn modes_4_5_counters_of_a_live_run_only_grow() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", r#","iteration":4"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"iteration":3}"#);
    world.write(Mode::Ralph, r#"{"iteration":4}"#);
    world.write(Mode::Ralph, r#"{"iteration":6}"#);
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", r#","review_cycle":2"#);
    world.write_refused(Mode::Autopilot, RefusalCode::InvalidInput, r#"{"review_cycle":1}"#);
    let mut world = SessionWorld::live(Mode::Team, "team-exec", r#","fix_loop_count":2"#);
    world.write_refused(Mode::Team, RefusalCode::InvalidInput, r#"{"fix_loop_count":0}"#);
}

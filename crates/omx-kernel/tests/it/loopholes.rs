//! Closed loopholes: what an agent could write to exceed its limits, and what an ended
//! parent could leave active.

use omx_kernel::cancel::CancelTarget;
use omx_kernel::stop::{AllowReason, StopDecision, StopEvent};
use omx_kernel::{Mode, RefusalCode};

use crate::support::SessionWorld;

#[test]
fn modes_2_2_the_history_of_findings_and_failures_cannot_be_written() {
    for (mode, name) in [
        (Mode::Autopilot, "review_history"),
        (Mode::Ultraqa, "failure_history"),
        (Mode::Ralph, "ended_in_phase"),
    ] {
        let phase = mode.spec().phases[0];
        let mut world = SessionWorld::live(mode, phase, "");
        let input = format!(r#"{{"{name}":[]}}"#);
        assert!(world.write_refused(mode, RefusalCode::InvalidInput, &input).contains(name));
    }
}

#[test]
fn modes_2_7_the_stages_of_a_live_pipeline_cannot_change() {
    let stages = r#","stages":["plan","build"]"#;
    let mut world = SessionWorld::live(Mode::Pipeline, "stage:plan", stages);
    world.write_refused(Mode::Pipeline, RefusalCode::InvalidInput, r#"{"stages":["plan"]}"#);
    world.write(Mode::Pipeline, r#"{"stages":["plan","build"]}"#);
}

#[test]
fn modes_2_2_the_verdict_of_an_earlier_cycle_does_not_count_again() {
    let more = r#","iteration":2,"max_iterations":10,"review_cycle":1,
        "review_verdict":{"recommendation":"COMMENT","architectural_status":"CLEAR","clean":false},
        "return_to_ralplan_reason":"old","handoff_artifacts":{"ralph":{"changed_files":["a"],"evidence":[{"command":"make","exit_code":0}]},"code_review":{"x":1}}"#;
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", more);
    world.write(Mode::Autopilot, r#"{"current_phase":"code-review"}"#);
    assert!(world.get(Mode::Autopilot).get("review_verdict").unwrap().is_null());
    world.write_refused(
        Mode::Autopilot,
        RefusalCode::IllegalTransition,
        r#"{"current_phase":"ralplan"}"#,
    );
    let verdict = r#""review_verdict":{"recommendation":"COMMENT","architectural_status":"CLEAR"}"#;
    let bare = format!(r#"{{"current_phase":"ralplan",{verdict}}}"#);
    // Nor does the hand-off of the earlier review.
    world.write_refused(Mode::Autopilot, RefusalCode::IllegalTransition, &bare);
    world.write(
        Mode::Autopilot,
        &format!(r#"{{"current_phase":"ralplan",{verdict},"handoff_artifacts":{{"code_review":{{"x":2}}}}}}"#),
    );
    assert_eq!(world.get(Mode::Autopilot).get_u64("review_cycle"), Some(2));
}

#[test]
fn modes_3_1_a_run_that_ends_also_ends_its_dependents() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    world.run(Mode::Ralph, "executing", r#","linked_to":"autopilot","linked_ultrawork":true"#);
    world.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    world.run(Mode::Ecomode, "executing", "");
    let plan = world.try_write(Mode::Autopilot, r#"{"run_outcome":"failed","error":"x"}"#).unwrap();
    let written_order: Vec<Mode> = plan.writes.iter().map(|(mode, _)| *mode).collect();
    assert_eq!(written_order, [Mode::Ultrawork, Mode::Ralph, Mode::Autopilot]);
    for mode in [Mode::Ralph, Mode::Ultrawork] {
        assert!(!world.get(mode).is_active());
        assert_eq!(world.get(mode).get_str("run_outcome"), Some("cancelled"));
    }
    assert!(world.get(Mode::Ecomode).is_active(), "what is not linked goes on");
}

#[test]
fn modes_4_5_a_run_that_waits_is_not_held() {
    let waiting = |until: &str| format!(r#","waiting":{{"kind":"rate_limit"{until}}}"#);
    let held = |more: &str| {
        let world = SessionWorld::live(Mode::Ralph, "executing", more);
        world.decide(&StopEvent::turn_ended())
    };
    assert_eq!(held(&waiting("")), StopDecision::Allow(AllowReason::Waiting));
    let ahead = r#","until":"2026-11-15T13:00:00Z""#;
    assert_eq!(held(&waiting(ahead)), StopDecision::Allow(AllowReason::Waiting));
    let over = r#","until":"2026-11-15T11:00:00Z""#;
    assert!(matches!(held(&waiting(over)), StopDecision::Hold(_)), "its time is over");
}

#[test]
fn cancel_3_3_a_team_that_ended_before_this_ralph_started_belongs_to_another_run() {
    let more = r#","linked_team":true,"started_at":"2026-11-15T11:00:00Z""#;
    let mut world = SessionWorld::live(Mode::Ralph, "executing", more);
    world.put(
        Mode::Team,
        r#"{"active":false,"current_phase":"complete","run_outcome":"finish","linked_ralph":true,"completed_at":"2026-11-15T10:00:00Z"}"#,
    );
    world.cancel(CancelTarget::Everything);
    assert_eq!(world.get(Mode::Ralph).phase(), Some("cancelled"));
    assert_eq!(world.get(Mode::Ralph).get("linked_team_terminal_phase"), None);
}

#[test]
fn modes_2_4_and_2_6_a_new_loop_has_five_rounds() {
    let mut world = SessionWorld::new();
    world.write(Mode::Ralplan, r#"{"active":true}"#);
    assert_eq!(world.get(Mode::Ralplan).get_u64("iteration"), Some(1));
    for round in 1..=5 {
        for phase in ["architect-review", "critic-review", "revise"] {
            assert!(world.get(Mode::Ralplan).is_active(), "round {round}");
            world.write(Mode::Ralplan, &format!(r#"{{"current_phase":"{phase}"}}"#));
        }
    }
    assert_eq!(world.get(Mode::Ralplan).get_str("error"), Some("max_iterations reached"));
}

//! modes.md 4 and state.md 2.5: when a stop is allowed or held, how often, and what is
//! written when a run reaches a bound.

use omx_kernel::hold_text::format_instruction;
use omx_kernel::stop::{
    AllowReason, HOLDS_WITHOUT_TOOL, SAME_PROGRESS_LIMIT, StopCause, StopDecision, StopEvent,
    StopExhausted, StopHold, StoppingAgent,
};
use omx_kernel::{Dialect, Mode, Scope};

use crate::support::{NOW, SessionWorld, assert_ended, at};

const PRIORITY: [&str; 11] = [
    "ralph",
    "autopilot",
    "ultraqa",
    "ultrawork",
    "ecomode",
    "ralplan",
    "code-review",
    "pipeline",
    "team",
    "swarm",
    "ultrapilot",
];

pub fn first(mode: Mode) -> &'static str {
    mode.spec().phases.first().copied().unwrap_or("stage:1")
}

fn ralph(more: &str) -> SessionWorld {
    SessionWorld::live(Mode::Ralph, "executing", more)
}

pub fn turn() -> StopEvent {
    StopEvent::turn_ended()
}

pub fn seen(progress: u64) -> StopEvent {
    StopEvent { progress: Some(progress), ..turn() }
}

pub fn held(decision: StopDecision) -> StopHold {
    match decision {
        StopDecision::Hold(hold) => hold,
        other => panic!("not held: {other:?}"),
    }
}

pub fn exhausted(decision: StopDecision) -> StopExhausted {
    match decision {
        StopDecision::Exhausted(end) => end,
        other => panic!("not at a bound: {other:?}"),
    }
}

#[test]
fn modes_4_1_a_stop_without_a_session_is_allowed() {
    let mut world = SessionWorld::in_scope(Scope::Compatibility);
    world.run(Mode::Ralph, "executing", "");
    assert_eq!(world.decide(&turn()), StopDecision::Allow(AllowReason::NoSession));
}

#[test]
fn modes_4_1_a_stop_with_nothing_active_is_allowed() {
    assert_eq!(
        SessionWorld::new().decide(&turn()),
        StopDecision::Allow(AllowReason::NothingActive)
    );
    for mode in Mode::ALL {
        let mut world = SessionWorld::live(mode, first(mode), "");
        world.write(mode, r#"{"active":false}"#);
        assert_eq!(world.decide(&turn()), StopDecision::Allow(AllowReason::NothingActive));
    }
}

#[test]
fn modes_4_1_a_stale_mode_is_never_enforced() {
    for mode in Mode::ALL {
        let mut world = SessionWorld::live(mode, first(mode), "");
        world.advance(7_200_001);
        assert_eq!(world.decide(&turn()), StopDecision::Allow(AllowReason::Stale));
    }
    let mut world = ralph("");
    world.advance(7_200_001);
    world.put(
        Mode::Ultrawork,
        r#"{"active":true,"current_phase":"executing","updated_at":"2026-11-15T14:00:00Z"}"#,
    );
    assert_eq!(held(world.decide(&turn())).mode, Mode::Ultrawork, "a live one beside it holds");
}

#[test]
fn modes_4_1_a_run_that_an_omx_process_drives_does_not_hold() {
    let mut world = ralph("");
    let event = StopEvent { self_driven: vec![Mode::Ralph], ..turn() };
    assert_eq!(world.decide(&event), StopDecision::Allow(AllowReason::SelfDriven));
    world.run(Mode::Ecomode, "executing", "");
    assert_eq!(held(world.decide(&event)).mode, Mode::Ecomode);
}

#[test]
fn modes_4_1_every_cause_but_the_end_of_a_turn_allows_the_stop() {
    let table = [
        (StopCause::Interrupted, AllowReason::Interrupted),
        (StopCause::ContextLimit, AllowReason::Limit),
        (StopCause::RateLimit, AllowReason::Limit),
        (StopCause::Account, AllowReason::Account),
    ];
    let mut world = SessionWorld::new();
    for mode in Mode::ALL {
        world.run(mode, first(mode), "");
    }
    for (cause, reason) in table {
        let event = StopEvent { cause, ..turn() };
        assert_eq!(world.decide(&event), StopDecision::Allow(reason));
    }
    let event = StopEvent { cancel_requested: true, ..turn() };
    assert_eq!(world.decide(&event), StopDecision::Allow(AllowReason::CancelRequested));
    let event = StopEvent { agent: StoppingAgent::Subagent, ..turn() };
    assert_eq!(world.decide(&event), StopDecision::Allow(AllowReason::Subagent));
}

#[test]
fn modes_4_2_the_first_active_mode_by_priority_holds() {
    for (index, name) in PRIORITY.iter().enumerate() {
        let mut world = SessionWorld::new();
        for lower in &PRIORITY[index..] {
            let mode = Mode::parse(lower).unwrap();
            world.run(mode, first(mode), "");
        }
        assert_eq!(held(world.decide(&turn())).mode.name(), *name);
    }
}

/// What only the agent reads.
fn instruction(mode: Mode, phase: &str, more: &str) -> String {
    let world = SessionWorld::live(mode, phase, more);
    format_instruction(mode, world.snapshot.active(mode).unwrap(), Dialect::OMX)
}

#[test]
fn modes_4_2_a_hold_names_mode_phase_iteration_missing_evidence_and_cancel() {
    for mode in Mode::ALL {
        let more = r#","iteration":2,"max_iterations":9"#;
        for phase in
            mode.spec().phases.iter().chain(mode.spec().phases.is_empty().then_some(&"stage:1"))
        {
            let text = held(SessionWorld::live(mode, phase, more).decide(&turn())).text;
            // Only where the hold is the loop does it count.
            let counts = matches!(mode, Mode::Ralph | Mode::Ultrawork | Mode::Ecomode);
            let count = if counts { "3/9" } else { "2/9" };
            let stage = phase.strip_prefix("stage:").unwrap_or(phase);
            for part in [mode.title(), stage, count, "Next: "] {
                assert!(text.contains(part), "{part}: {text}");
            }
            assert!(!text.contains(['_', '\n']) && text.len() < 300, "short: {text}");
        }
    }
    let missing = [
        (Mode::Ralph, "verifying", "completion_audit"),
        (Mode::Ultraqa, "qa", "last_check"),
        (Mode::Ralplan, "critic-review", "consensus.critic"),
        (Mode::CodeReview, "reviewing", "review_verdict"),
        (Mode::Ultrawork, "verifying", "last_check"),
        (Mode::Team, "team-verify", "verification.passed"),
        (Mode::Swarm, "executing", "tasks.pending"),
        (Mode::Pipeline, "stage:1", "stage_results.1"),
    ];
    for (mode, phase, part) in missing {
        let text = instruction(mode, phase, "");
        assert!(text.contains(part) && text.contains("omx cancel"), "{part}: {text}");
    }
}

#[test]
fn modes_4_2_existing_evidence_is_not_reported_as_missing() {
    let check = r#","last_check":{"command":"make","exit_code":0}"#;
    let text = instruction(Mode::Ultraqa, "qa", check);
    assert!(!text.contains("last_check"), "{text}");
    let plan = r#","plan_path":"p.md","consensus":{"critic":"APPROVE"}"#;
    let text = instruction(Mode::Ralplan, "critic-review", plan);
    assert!(!text.contains(" plan_path") && !text.contains("consensus.critic"), "{text}");
    assert!(text.contains("test_spec_path") && text.contains("consensus.architect"), "{text}");
}

#[test]
fn modes_4_2_a_hold_of_autopilot_gives_the_instruction_of_its_phase() {
    for (phase, part) in [
        ("ralplan", "handoff_artifacts.ralplan"),
        ("ralph", "handoff_artifacts.ralph"),
        ("code-review", "both lanes"),
    ] {
        let text = instruction(Mode::Autopilot, phase, "");
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn modes_4_3_each_hold_of_ralph_is_one_iteration_and_one_write() {
    let mut world = ralph(r#","iteration":4,"max_iterations":50,"x":1.10"#);
    let hold = held(world.stop(&turn()));
    let document = hold.document.unwrap();
    assert_eq!(document.get_u64("iteration"), Some(5));
    assert_eq!(document.revision(), 2);
    assert_eq!(document.get("x").unwrap().as_json(), "1.10");
    assert!(document.is_active());
    assert_eq!(hold.activity.holds_in_a_row, 1);
    assert_eq!(hold.activity.last_seen, Some(at(NOW)));
}

#[test]
fn modes_4_3_seven_holds_without_a_tool_call_end_in_blocked_on_user() {
    assert_eq!(HOLDS_WITHOUT_TOOL, 7);
    let mut world = ralph("");
    for progress in 0..7 {
        held(world.stop(&seen(progress)));
    }
    let end = exhausted(world.stop(&seen(7)));
    assert_ended(end.document().unwrap(), "blocked_on_user", "blocked");
    assert_eq!(end.document().unwrap().phase(), Some("executing"));
    assert!(
        end.error.contains('7') && end.document().unwrap().get_str("error") == Some(&end.error)
    );
    assert_eq!(world.stop(&seen(8)), StopDecision::Allow(AllowReason::NothingActive));
}

#[test]
fn modes_4_3_a_tool_call_resets_the_consecutive_holds() {
    let mut world = ralph("");
    for round in 0..49 {
        if round % 7 == 0 {
            world.snapshot.activity.record_tool_use(world.now);
        }
        held(world.stop(&seen(round)));
    }
}

#[test]
fn modes_4_3_holds_end_at_max_iterations_with_failed() {
    let mut world = ralph(r#","iteration":0,"max_iterations":3"#);
    for _ in 0..3 {
        held(world.stop(&turn()));
    }
    let end = exhausted(world.stop(&turn()));
    assert_ended(end.document().unwrap(), "failed", "failed");
    assert_eq!(end.document().unwrap().get_str("error"), Some("max_iterations reached"));
    assert_eq!(end.document().unwrap().get_u64("iteration"), Some(3));
}

#[test]
fn modes_4_3_a_document_without_a_limit_has_the_default() {
    for mode in [Mode::Ralph, Mode::Ultrawork, Mode::Ecomode] {
        let mut world = SessionWorld::live(mode, first(mode), r#","iteration":50"#);
        assert_eq!(exhausted(world.stop(&turn())).error, "max_iterations reached");
    }
}

#[test]
fn modes_4_3_five_equal_fingerprints_in_a_row_end_in_blocked_on_user() {
    assert_eq!(SAME_PROGRESS_LIMIT, 5);
    let mut world = ralph("");
    for _ in 0..4 {
        held(world.stop(&seen(9)));
        world.snapshot.activity.record_tool_use(world.now);
    }
    let end = exhausted(world.stop(&seen(9)));
    assert_ended(end.document().unwrap(), "blocked_on_user", "blocked");
    assert!(end.error.contains("executing"), "the repeated thing is named: {}", end.error);
}

#[test]
fn modes_4_3_another_fingerprint_or_none_resets_the_equal_ones() {
    let mut world = ralph("");
    for progress in [Some(9), Some(9), Some(9), Some(9), Some(8), Some(9), Some(9), None, Some(9)] {
        held(world.stop(&StopEvent { progress, ..turn() }));
        world.snapshot.activity.record_tool_use(world.now);
    }
    let mut world = ralph("");
    for _ in 0..40 {
        held(world.stop(&turn()));
        world.snapshot.activity.record_tool_use(world.now);
    }
}

#[test]
fn modes_4_4_a_reached_bound_is_never_recorded_as_complete() {
    for mode in Mode::ALL {
        for limit in [1, 2, 8] {
            for fingerprint in [None, Some(1)] {
                let more = format!(r#","iteration":0,"max_iterations":{limit}"#);
                let mut world = SessionWorld::live(mode, first(mode), &more);
                let event = StopEvent { progress: fingerprint, ..turn() };
                let end = loop {
                    if let StopDecision::Exhausted(end) = world.stop(&event) {
                        break end;
                    }
                };
                let (outcome, lifecycle) = match end.error.as_str() {
                    "max_iterations reached" => ("failed", "failed"),
                    _ => ("blocked_on_user", "blocked"),
                };
                assert_ended(end.document().unwrap(), outcome, lifecycle);
                assert_ne!(end.document().unwrap().phase(), Some("complete"));
            }
        }
    }
}

#[test]
fn modes_4_5_a_rate_limit_never_counts_as_an_iteration() {
    let mut world = ralph("");
    let before = world.snapshot.clone();
    world.stop(&StopEvent { cause: StopCause::RateLimit, ..turn() });
    assert_eq!(world.snapshot, before);
}

#[test]
fn modes_4_6_tool_use_changes_neither_documents_nor_revisions() {
    let mut world = ralph("");
    let documents = world.snapshot.documents.clone();
    world.snapshot.activity.record_tool_use(world.now);
    assert_eq!(world.snapshot.documents, documents);
    assert_eq!(world.snapshot.activity.last_seen, Some(world.now));
    world.write(Mode::Ralph, r#"{"expected_revision":1,"iteration":1}"#);
}

#[test]
fn state_2_5_a_document_is_stale_after_two_hours_without_activity() {
    for (millis, stale) in [(7_199_999, false), (7_200_000, false), (7_200_001, true)] {
        let mut world = ralph("");
        world.advance(millis);
        assert_eq!(world.snapshot.is_stale(Mode::Ralph, world.now), stale, "{millis}");
    }
}

#[test]
fn modes_4_6_staleness_counts_from_the_later_of_updated_at_and_last_seen() {
    let mut world = ralph("");
    world.advance(7_200_001);
    world.snapshot.activity.last_seen = Some(at("2026-11-15T12:00:00.001Z"));
    assert!(!world.snapshot.is_stale(Mode::Ralph, world.now));
    world.snapshot.activity.last_seen = Some(at("2026-11-15T11:00:00Z"));
    assert!(world.snapshot.is_stale(Mode::Ralph, world.now));
    world.put(Mode::Ralph, r#"{"active":true}"#);
    world.snapshot.activity.last_seen = None;
    world.snapshot.modified_at.insert(Mode::Ralph, at(NOW));
    assert!(world.snapshot.is_stale(Mode::Ralph, world.now), "its file says how old it is");
    world.put(Mode::Ralph, r#"{"active":false,"updated_at":"2020-01-01T00:00:00Z"}"#);
    assert!(!world.snapshot.is_stale(Mode::Ralph, world.now), "only a live one is stale");
}

#[test]
fn modes_4_1_the_reason_of_a_driven_run_names_the_dialects_program() {
    for (dialect, reason) in [
        (Dialect::OMX, "an omx process drives the run"),
        (Dialect::OMC, "an omc process drives the run"),
    ] {
        assert_eq!(AllowReason::SelfDriven.describe(&dialect), reason);
    }
}

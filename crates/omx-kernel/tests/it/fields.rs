//! state.md 2.2, 3 (write), 3.3: foreign values pass through byte for byte, known ones are
//! checked for every mode, and a write merges fields.

use omx_kernel::{Mode, RefusalCode, Scope};

use crate::support::{SessionWorld, json};

const FOREIGN: &str = r#","zeta":18446744073709551617,"alpha":1.10,"lone":"\ud800","deep":{"b":1e400,"a":[ 1 , 2.0 ]},"null":"x""#;

#[test]
fn state_2_2_foreign_fields_survive_a_hundred_writes_byte_for_byte_and_in_place() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", FOREIGN);
    for count in 1..=50 {
        let input = format!(r#"{{"iteration":{count},"own":{count}}}"#);
        world.write(Mode::Ralph, &input);
        world.write(Mode::Ralph, r#"{"own":null}"#);
    }
    assert!(json(world.get(Mode::Ralph)).contains(FOREIGN), "{}", json(world.get(Mode::Ralph)));
    world.write(Mode::Ralph, r#"{"current_phase":"failed"}"#);
    world.write(Mode::Ralph, r#"{"resume":true}"#);
    world.cancel(omx_kernel::cancel::CancelTarget::Everything);
    assert!(json(world.get(Mode::Ralph)).contains(FOREIGN));
}

#[test]
fn state_2_2_changed_fields_keep_their_place_and_removal_keeps_the_order() {
    let mut world = SessionWorld::with(Mode::Ralph, r#"{"z":1,"active":true,"y":2,"x":3,"w":4}"#);
    world.write(Mode::Ralph, r#"{"x":30,"z":null}"#);
    let written = json(world.get(Mode::Ralph));
    assert!(written.starts_with(r#"{"active":true,"y":2,"x":30,"w":4,"#), "{written}");
}

#[test]
fn state_3_write_null_is_stored_in_fields_of_the_mode_and_removes_others() {
    let mut world =
        SessionWorld::live(Mode::Ralph, "verifying", r#","x":1,"task_description":"t""#);
    let input = r#"{"x":null,"task_description":null,"completion_audit":null,"y":null}"#;
    let document = world.write(Mode::Ralph, input);
    assert_eq!(document.get("x"), None);
    assert_eq!(document.get("y"), None);
    assert_eq!(document.get("task_description"), None);
    assert_eq!(document.get("completion_audit").unwrap().as_json(), "null");
}

#[test]
fn state_3_write_handoffs_merge_by_key_and_other_values_are_replaced() {
    for mode in [Mode::Autopilot, Mode::Pipeline, Mode::Ralph] {
        let phase = mode.spec().phases.first().copied().unwrap_or("stage:1");
        let mut world = SessionWorld::live(
            mode,
            phase,
            r#","handoff_artifacts":{"ralplan":{"plan":"p"},"x":1.10},"other":{"a":1}"#,
        );
        let document =
            world.write(mode, r#"{"handoff_artifacts":{"ralph":{},"x":2},"other":{"b":2}}"#);
        assert_eq!(
            document.get("handoff_artifacts").unwrap().as_json(),
            r#"{"ralplan":{"plan":"p"},"x":2,"ralph":{}}"#
        );
        assert_eq!(document.get("other").unwrap().as_json(), r#"{"b":2}"#);
        assert!(omx_kernel::fields::is_read(mode, "handoff_artifacts"), "{}", mode.name());
    }
}

#[test]
fn state_3_write_state_is_merged_at_the_top_level() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    let document = world.write(Mode::Ralph, r#"{"state":{"iteration":2,"x":{"y":1}},"z":3}"#);
    assert_eq!(document.get_u64("iteration"), Some(2));
    assert_eq!(document.get("x").unwrap().as_json(), r#"{"y":1}"#);
    assert_eq!(document.get("state"), None);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"x":1,"state":{"x":2}}"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"state":[]}"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"state":{"mode":"team"}}"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"state":{"session_id":"s2"}}"#);
    world.write(Mode::Ralph, r#"{"state":{"mode":"ralph","session_id":"s1"}}"#);
}

#[test]
fn state_3_write_control_arguments_are_never_stored() {
    let input = r#"{"mode":"ralph","session_id":"s1","workingDirectory":"/x","start":true,"expected_revision":0}"#;
    let document = SessionWorld::new().write(Mode::Ralph, input);
    for name in ["workingDirectory", "start", "resume", "expected_revision", "state"] {
        assert_eq!(document.get(name), None, "{name}");
    }
}

#[test]
fn state_3_3_every_common_value_is_checked_for_every_mode_and_nothing_is_coerced() {
    let bad = [
        ("active", &["1", r#""true""#, "null", "[]"][..]),
        ("current_phase", &["1", "null", "[]", "true"]),
        ("iteration", &["-1", "1.0", "1.5", "1e2", r#""1""#, "null", "18446744073709551616"]),
        ("max_iterations", &["0", "-1", "2.5", r#""9""#, "null", "true"]),
        ("run_outcome", &["1", "true", "{}"]),
        ("lifecycle_outcome", &["1", "true", "{}"]),
        ("task_description", &["1", "[]", r#""\ud800""#]),
        ("started_at", &["0", r#""yesterday""#, r#""2026-02-30T00:00:00Z""#, r#""2026-11-15""#]),
        ("updated_at", &["1", r#""""#]),
        ("completed_at", &["1", r#""now""#]),
        ("error", &["1", "{}"]),
        ("expected_revision", &["-1", "1.5", r#""1""#]),
        ("start", &["1", r#""yes""#]),
        ("resume", &["1", r#""yes""#]),
        ("revision", &["1", "null"]),
    ];
    for mode in Mode::ALL {
        for (name, values) in bad {
            for value in values {
                let active = if name == "active" { "" } else { r#""active":false,"# };
                let input = format!(r#"{{{active}"{name}":{value}}}"#);
                let refusal =
                    SessionWorld::new().write_refused(mode, RefusalCode::InvalidInput, &input);
                assert!(refusal.contains(name), "{refusal}");
            }
        }
    }
}

#[test]
fn state_3_3_the_fields_of_each_mode_are_checked() {
    let bad = [
        (Mode::Autopilot, "review_cycle", "-1"),
        (Mode::Autopilot, "review_cycle", "null"),
        (Mode::Autopilot, "handoff_artifacts", "[]"),
        (Mode::Autopilot, "handoff_artifacts", "null"),
        (Mode::Autopilot, "review_verdict", r#""APPROVE""#),
        (Mode::Autopilot, "return_to_ralplan_reason", "1"),
        (Mode::Ralph, "completion_audit", "true"),
        (Mode::Ralph, "linked_ultrawork", r#""yes""#),
        (Mode::Ralph, "linked_team_terminal_at", r#""then""#),
        (Mode::Ralplan, "plan_path", "7"),
        (Mode::Ralplan, "consensus", "[]"),
        (Mode::CodeReview, "review_verdict", "[]"),
        (Mode::Ultraqa, "last_check", "0"),
        (Mode::Team, "fix_loop_count", "1.5"),
        (Mode::Team, "max_fix_loops", "0"),
        (Mode::Swarm, "tasks", "3"),
        (Mode::Pipeline, "stages", r#""a""#),
        (Mode::Ultrapilot, "verification", "true"),
    ];
    for (mode, name, value) in bad {
        let input = format!(r#"{{"active":true,"{name}":{value}}}"#);
        let refusal = SessionWorld::new().write_refused(mode, RefusalCode::InvalidInput, &input);
        assert!(refusal.contains(name), "{refusal}");
    }
}

#[test]
fn state_2_1_iteration_is_never_over_max_iterations() {
    for mode in Mode::ALL {
        let input = r#"{"active":true,"iteration":4,"max_iterations":3}"#;
        SessionWorld::new().write_refused(mode, RefusalCode::InvalidInput, input);
    }
    let mut world =
        SessionWorld::live(Mode::Ralph, "executing", r#","iteration":3,"max_iterations":5"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"iteration":6}"#);
    world.write_refused(Mode::Ralph, RefusalCode::InvalidInput, r#"{"max_iterations":2}"#);
    world.write(Mode::Ralph, r#"{"max_iterations":3}"#);
}

#[test]
fn state_2_1_a_document_outside_a_session_has_no_session_id() {
    let mut world = SessionWorld::in_scope(Scope::Compatibility);
    let document = world.write(Mode::Ralph, r#"{"active":true}"#);
    assert_eq!(document.get("session_id"), None);
}

#[test]
fn state_3_2_every_refusal_has_its_code_in_snake_case() {
    let codes = [
        (RefusalCode::InvalidInput, "invalid_input"),
        (RefusalCode::UnknownMode, "unknown_mode"),
        (RefusalCode::InvalidSessionId, "invalid_session_id"),
        (RefusalCode::InvalidPhase, "invalid_phase"),
        (RefusalCode::InvalidOutcome, "invalid_outcome"),
        (RefusalCode::IllegalTransition, "illegal_transition"),
        (RefusalCode::Contradiction, "contradiction"),
        (RefusalCode::RevisionConflict, "revision_conflict"),
        (RefusalCode::RecentlyCancelled, "recently_cancelled"),
        (RefusalCode::ModeConflict, "mode_conflict"),
        (RefusalCode::LinkedMode, "linked_mode"),
        (RefusalCode::SessionRequired, "session_required"),
        (RefusalCode::AmbiguousSession, "ambiguous_session"),
        (RefusalCode::Busy, "busy"),
        (RefusalCode::CorruptState, "corrupt_state"),
        (RefusalCode::UnsafePath, "unsafe_path"),
        (RefusalCode::TooLarge, "too_large"),
        (RefusalCode::Io, "io"),
    ];
    for (code, word) in codes {
        assert_eq!(code.as_str(), word);
    }
}

/// quality.md R16: other programs may store counters of any size.
#[test]
fn state_2_1_counters_at_their_maximum_do_not_wrap() {
    let max = u64::MAX;
    let mut world =
        SessionWorld::live(Mode::Ralplan, "critic-review", &format!(r#","iteration":{max}"#));
    world.put(Mode::Team, &format!(r#"{{"active":true,"current_phase":"team-verify","fix_loop_count":{max},"max_fix_loops":{max},"revision":{max}}}"#));
    let document = world.write(Mode::Ralplan, r#"{"current_phase":"revise"}"#);
    assert_eq!(document.get_u64("iteration"), Some(max));
    let document = world.write(Mode::Team, r#"{"current_phase":"team-fix"}"#);
    assert_eq!(document.revision(), max);
    world.cancel(omx_kernel::cancel::CancelTarget::Everything);
    let mut world =
        SessionWorld::live(Mode::Ecomode, "executing", &format!(r#","iteration":{max}"#));
    world.stop(&omx_kernel::stop::StopEvent::turn_ended());
    assert!(!world.get(Mode::Ecomode).is_active());
}

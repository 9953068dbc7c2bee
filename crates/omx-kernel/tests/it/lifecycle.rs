//! state.md 2.3a, 2.3c and 3.2a: how runs start, that ended runs stay ended, and what a
//! start, a resume and a late write may do.

use std::collections::BTreeMap;

use omx_kernel::activity::{CANCEL_REMEMBERED_MILLIS, ClearedDocument};
use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Mode, RefusalCode, Timestamp};

use crate::support::{NOW, SessionWorld, assert_ended, json};

const ENDS: [(&str, &str); 4] = [
    ("finish", "finished"),
    ("blocked_on_user", "blocked"),
    ("failed", "failed"),
    ("cancelled", "cancelled"),
];

fn ended(mode: Mode, outcome: &str, lifecycle: &str) -> SessionWorld {
    SessionWorld::with(
        mode,
        &format!(
            r#"{{"mode":"{}","active":false,"current_phase":"{outcome}","iteration":3,"max_iterations":5,"run_outcome":"{outcome}","lifecycle_outcome":"{lifecycle}","completed_at":"2026-11-15T11:00:00.000Z","session_id":"s1","revision":7,"note":1.10}}"#,
            mode.name()
        ),
    )
}

#[test]
fn state_2_3a_a_write_without_active_leaves_an_ended_document_ended() {
    for mode in Mode::ALL {
        for (outcome, lifecycle) in ENDS {
            let mut world = ended(mode, outcome, lifecycle);
            let before = world.get(mode).clone();
            let document = world.write(mode, r#"{"x":1,"error":"late","run_outcome":null}"#);
            assert_ended(&document, outcome, lifecycle);
            assert_eq!(document.get_str("completed_at"), before.get_str("completed_at"));
            assert_eq!(document.phase(), before.phase());
            assert_eq!(document.get_u64("x"), Some(1));
            assert_eq!(document.revision(), 8);
        }
    }
}

#[test]
fn state_2_3a_an_ended_run_neither_ends_again_nor_continues() {
    let mut world = ended(Mode::Ralph, "failed", "failed");
    for input in [
        r#"{"run_outcome":"finish"}"#,
        r#"{"current_phase":"cancelled"}"#,
        r#"{"current_phase":"executing"}"#,
        r#"{"active":false,"run_outcome":"cancelled"}"#,
    ] {
        world.write_refused(Mode::Ralph, RefusalCode::IllegalTransition, input);
    }
    for input in [r#"{"run_outcome":"continue"}"#, r#"{"waiting":{"kind":"worker"}}"#] {
        world.write_refused(Mode::Ralph, RefusalCode::Contradiction, input);
    }
    for input in
        [r#"{"active":false}"#, r#"{"run_outcome":"error"}"#, r#"{"current_phase":"fail"}"#]
    {
        assert_ended(&world.clone().write(Mode::Ralph, input), "failed", "failed");
    }
}

#[test]
fn state_2_3a_active_true_on_a_finished_run_starts_a_new_one_that_keeps_only_revision() {
    for mode in Mode::ALL {
        for (outcome, lifecycle) in [("finish", "finished"), ("failed", "failed")] {
            let mut world = ended(mode, outcome, lifecycle);
            let document = world.write(mode, r#"{"active":true}"#);
            let fresh = SessionWorld::new().write(mode, r#"{"active":true}"#);
            assert_eq!(document.revision(), 8);
            let as_first = json(&document).replace(r#""revision":8"#, r#""revision":1"#);
            assert_eq!(as_first, json(&fresh), "nothing else is carried over");
        }
    }
}

#[test]
fn state_2_3a_a_cancelled_run_requires_an_explicit_start() {
    for mode in Mode::ALL {
        let mut world = ended(mode, "cancelled", "cancelled");
        let refusal =
            world.write_refused(mode, RefusalCode::RecentlyCancelled, r#"{"active":true}"#);
        assert!(refusal.contains(r#""start": true"#), "{refusal}");
        world.write_refused(mode, RefusalCode::RecentlyCancelled, r#"{"state":{"active":true}}"#);
        let document = world.write(mode, r#"{"start":true}"#);
        assert!(document.is_active());
        assert_eq!(document.revision(), 8, "with a higher revision");
        assert_eq!(document.get("note"), None, "a start begins anew");
    }
}

#[test]
fn state_2_3a_a_document_with_only_active_false_counts_as_cancelled() {
    let mut world = SessionWorld::with(Mode::Ralph, r#"{"active":false}"#);
    world.write_refused(Mode::Ralph, RefusalCode::RecentlyCancelled, r#"{"active":true}"#);
}

#[test]
fn state_2_3a_a_resume_reopens_only_resumable_runs_with_all_their_fields() {
    for mode in Mode::ALL {
        for (outcome, lifecycle) in ENDS {
            let keeps = matches!(mode, Mode::Autopilot | Mode::Ralplan);
            let is_allowed = match outcome {
                "failed" | "blocked_on_user" => true,
                "cancelled" => keeps,
                _ => false,
            };
            let mut world = ended(mode, outcome, lifecycle);
            let result = world.try_write(mode, r#"{"resume":true}"#);
            assert_eq!(result.is_ok(), is_allowed, "{} {outcome}: {result:?}", mode.name());
            if !is_allowed {
                let code = result.unwrap_err().code;
                assert_eq!(code, RefusalCode::IllegalTransition);
                continue;
            }
            let document = world.get(mode);
            assert!(document.is_active());
            assert_eq!(document.get_str("run_outcome"), Some("continue"));
            assert_eq!(document.get("completed_at"), None);
            assert_eq!(document.get("lifecycle_outcome"), None);
            assert_eq!(document.get_u64("iteration"), Some(3));
            assert_eq!(document.get("note").unwrap().as_json(), "1.10");
            assert_eq!(document.revision(), 8);
        }
    }
}

#[test]
fn state_2_3a_a_resume_continues_in_the_phase_in_which_the_run_ended() {
    let table = [
        (Mode::Autopilot, "code-review", r#"{"run_outcome":"cancelled"}"#),
        (Mode::Autopilot, "ralph", r#"{"run_outcome":"failed"}"#),
        (Mode::Ralplan, "critic-review", r#"{"current_phase":"cancelled"}"#),
        (Mode::Ralph, "verifying", r#"{"current_phase":"failed","error":"x"}"#),
        (Mode::Ralph, "fixing", r#"{"current_phase":"blocked"}"#),
        (Mode::Team, "team-verify", r#"{"run_outcome":"blocked"}"#),
    ];
    for (mode, phase, end) in table {
        let mut world = SessionWorld::live(mode, phase, "");
        world.write(mode, end);
        let document = world.write(mode, r#"{"resume":true}"#);
        assert_eq!(document.phase(), Some(phase));
        assert_eq!(document.get("error"), None);
    }
}

/// modes.md 2.1: a resume does not bypass the table.
#[test]
fn modes_2_1_a_resume_obeys_the_table_and_its_phase_cannot_be_written() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralplan", "");
    world.cancel(CancelTarget::Everything);
    world.write_refused(
        Mode::Autopilot,
        RefusalCode::IllegalTransition,
        r#"{"resume":true,"current_phase":"code-review"}"#,
    );
    world.write_refused(
        Mode::Autopilot,
        RefusalCode::InvalidInput,
        r#"{"ended_in_phase":"code-review"}"#,
    );
    assert_eq!(world.write(Mode::Autopilot, r#"{"resume":true}"#).phase(), Some("ralplan"));
}

#[test]
fn state_2_3a_resume_without_a_document_and_start_of_a_live_one_are_refused() {
    SessionWorld::new().write_refused(
        Mode::Ralph,
        RefusalCode::IllegalTransition,
        r#"{"resume":true}"#,
    );
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.write_refused(Mode::Ralph, RefusalCode::ModeConflict, r#"{"start":true}"#);
}

#[test]
fn state_2_3c_the_guard_against_revival_lasts_sixty_seconds_after_a_clear() {
    assert_eq!(CANCEL_REMEMBERED_MILLIS, 60_000);
    for (after, guarded) in [(0, true), (59_999, true), (60_000, false), (3_600_000, false)] {
        let mut world = SessionWorld::new();
        let until = Timestamp::from_millis(world.now.millis() + CANCEL_REMEMBERED_MILLIS);
        let cleared = ClearedDocument { revision: 7, cancelled_until: Some(until) };
        world.snapshot.activity.cleared = BTreeMap::from([("ralph".to_owned(), cleared)]);
        world.advance(after);
        let result = world.plan(Mode::Ralph, r#"{"active":true}"#);
        assert_eq!(result.is_err(), guarded, "{after}: {result:?}");
        if let Err(refusal) = result {
            assert_eq!(refusal.code, RefusalCode::RecentlyCancelled);
        }
        assert!(world.plan(Mode::Ultrawork, r#"{"active":true}"#).is_ok(), "another mode");
        let document = world.write(Mode::Ralph, r#"{"start":true}"#);
        assert_eq!(document.revision(), 8, "the revision goes on");
    }
}

#[test]
fn state_2_3c_a_document_that_was_not_cancelled_is_cleared_without_a_guard() {
    let mut world = SessionWorld::new();
    let cleared = ClearedDocument { revision: 4, cancelled_until: None };
    world.snapshot.activity.cleared = BTreeMap::from([("ralph".to_owned(), cleared)]);
    assert_eq!(world.write(Mode::Ralph, r#"{"active":true}"#).revision(), 5);
}

#[test]
fn state_3_2a_the_first_write_must_set_active() {
    for mode in Mode::ALL {
        for input in [r#"{}"#, r#"{"iteration":1}"#, r#"{"run_outcome":"failed"}"#] {
            let refusal = SessionWorld::new().write_refused(mode, RefusalCode::InvalidInput, input);
            assert!(refusal.contains("active"), "{refusal}");
        }
        assert!(SessionWorld::new().write(mode, r#"{"start":true}"#).is_active());
    }
}

#[test]
fn state_3_2a_a_start_fills_in_omitted_fields_and_keeps_given_ones() {
    for mode in Mode::ALL {
        let document = SessionWorld::new().write(mode, r#"{"active":true}"#);
        assert!(document.phase().is_some());
        assert!(document.get_u64("iteration").is_some());
        assert_eq!(document.get_str("run_outcome"), Some("continue"));
        assert_eq!(document.get_str("started_at"), Some(NOW));
        assert_eq!(document.get_str("updated_at"), Some(NOW));
        assert_eq!(document.get_str("mode"), Some(mode.name()));
        assert_eq!(document.get_str("session_id"), Some("s1"));
        assert_eq!(document.revision(), 1);
        assert_eq!(document.get("completed_at"), None);
        let given = r#"{"active":true,"iteration":1,"max_iterations":4,"run_outcome":"progress","started_at":"2026-01-01T00:00:00Z"}"#;
        let document = SessionWorld::new().write(mode, given);
        assert_eq!(document.get_u64("iteration"), Some(1));
        assert_eq!(document.get_u64("max_iterations"), Some(4));
        assert_eq!(document.get_str("run_outcome"), Some("progress"));
        assert_eq!(document.get_str("started_at"), Some("2026-01-01T00:00:00Z"));
    }
}

#[test]
fn modes_2_2_a_start_of_autopilot_fills_in_its_fields() {
    let document = SessionWorld::new().write(Mode::Autopilot, r#"{"active":true}"#);
    let text = |name: &str| document.get(name).unwrap().as_json().to_owned();
    assert_eq!(text("phase_cycle"), r#"["ralplan","ralph","code-review"]"#);
    assert_eq!(text("review_cycle"), "0");
    assert_eq!(text("review_verdict"), "null");
    assert_eq!(text("return_to_ralplan_reason"), "null");
    assert_eq!(
        text("handoff_artifacts"),
        r#"{"context_snapshot_path":null,"ralplan":null,"ralph":null,"code_review":null}"#
    );
    let given = r#"{"active":true,"handoff_artifacts":{"ralph":null,"context_snapshot_path":"c.md","own":1}}"#;
    let document = SessionWorld::new().write(Mode::Autopilot, given);
    assert_eq!(
        document.get("handoff_artifacts").unwrap().as_json(),
        r#"{"context_snapshot_path":"c.md","ralplan":null,"ralph":null,"code_review":null,"own":1}"#
    );
}

#[test]
fn modes_1_a_configured_limit_replaces_the_default() {
    let mut world = SessionWorld::new();
    world.limits.insert(Mode::Ralph, 7);
    let document = world.write(Mode::Ralph, r#"{"active":true}"#);
    assert_eq!(document.get_u64("max_iterations"), Some(7));
}

#[test]
fn modes_3_4_a_ralph_linked_to_a_team_has_ten_iterations() {
    let document = SessionWorld::new().write(Mode::Ralph, r#"{"active":true,"linked_team":true}"#);
    assert_eq!(document.get_u64("max_iterations"), Some(10));
    let document = SessionWorld::new().write(Mode::Team, r#"{"active":true}"#);
    assert_eq!(document.get_u64("max_fix_loops"), Some(3));
    assert_eq!(document.get_u64("fix_loop_count"), Some(0));
}

#[test]
fn state_3_2a_the_next_write_adds_mode_session_and_revision_to_a_foreign_document() {
    let mut world =
        SessionWorld::with(Mode::Ralph, r#"{"active":true,"current_phase":"executing"}"#);
    let document = world.write(Mode::Ralph, r#"{"expected_revision":0,"iteration":1}"#);
    assert_eq!(document.revision(), 1);
    assert_eq!(document.get_str("mode"), Some("ralph"));
    assert_eq!(document.get_str("session_id"), Some("s1"));
}

#[test]
fn state_2_1_every_write_increases_revision_by_one_and_expected_revision_guards_it() {
    let mut world = SessionWorld::new();
    for revision in 1..5 {
        assert_eq!(world.write(Mode::Ultrawork, r#"{"active":true}"#).revision(), revision);
    }
    world.write_refused(
        Mode::Ultrawork,
        RefusalCode::RevisionConflict,
        r#"{"expected_revision":3}"#,
    );
    world.write_refused(
        Mode::Ultrawork,
        RefusalCode::RevisionConflict,
        r#"{"expected_revision":5}"#,
    );
    let written = world.write(Mode::Ultrawork, r#"{"expected_revision":4}"#);
    assert_eq!(written.revision(), 5);
    SessionWorld::new().write_refused(
        Mode::Ultrawork,
        RefusalCode::RevisionConflict,
        r#"{"active":true,"expected_revision":1}"#,
    );
}

/// Every refusal on an ended document names the way that keeps its progress first.
#[test]
fn state_2_3a_a_refusal_names_resume_before_start() {
    for mode in Mode::ALL {
        let phase = mode.spec().phases.first().copied().unwrap_or("stage:1");
        for (outcome, inputs) in [
            ("blocked_on_user", &[r#"{"active":true}"#][..]),
            ("failed", &[]),
            ("cancelled", &[r#"{"active":true}"#]),
        ] {
            let mut world = SessionWorld::live(mode, phase, "");
            world.write(mode, &format!(r#"{{"run_outcome":"{outcome}"}}"#));
            let resumes = world.get(mode).can_resume(mode);
            let always = [r#"{"run_outcome":"continue"}"#, r#"{"current_phase":"complete"}"#];
            for input in inputs.iter().chain(&always) {
                let refusal = world.plan(mode, input).unwrap_err().message;
                let [resume, start] = [r#""resume": true"#, r#""start": true"#]
                    .map(|way| refusal.find(way).unwrap_or_else(|| panic!("{way}: {refusal}")));
                assert!(resume < start, "{refusal}");
                assert_eq!(refusal.contains("cannot continue"), !resumes, "{refusal}");
            }
            if resumes {
                assert!(world.write(mode, r#"{"resume":true}"#).is_active());
            }
        }
    }
}

#[test]
fn state_2_3_a_document_that_states_an_end_is_not_active() {
    for text in [
        r#"{"active":true,"current_phase":"complete"}"#,
        r#"{"active":true,"current_phase":"failed"}"#,
        r#"{"active":true,"phase":"done"}"#,
        r#"{"active":true,"current_phase":"ralph","run_outcome":"finish"}"#,
    ] {
        let world = SessionWorld::with(Mode::Autopilot, text);
        assert!(!world.get(Mode::Autopilot).is_active(), "{text}");
        let decision = world.decide(&omx_kernel::stop::StopEvent::turn_ended());
        assert!(matches!(decision, omx_kernel::stop::StopDecision::Allow(_)), "{text}");
        world.clone().write(Mode::Ralph, r#"{"active":true}"#);
    }
}

#[test]
fn state_3_2c_the_phase_of_another_program_is_read_and_kept() {
    let text = r#"{"active":true,"phase":"ralph","handoff_artifacts":{}}"#;
    let mut world = SessionWorld::with(Mode::Autopilot, text);
    assert_eq!(world.get(Mode::Autopilot).phase(), Some("ralph"));
    let document = world.write(Mode::Autopilot, r#"{"x":1}"#);
    assert_eq!(document.get_str("current_phase"), Some("ralph"));
    assert_eq!(document.get_str("phase"), Some("ralph"), "it is theirs");
    let mut world = SessionWorld::with(Mode::Autopilot, text);
    let plan = world.cancel(CancelTarget::Everything);
    assert_eq!(plan.entries[0].phase.as_deref(), Some("ralph"));
    assert_eq!(world.get(Mode::Autopilot).get_str("current_phase"), Some("ralph"));
}

//! state.md 2.3 and 2.4: which outcomes a live and an ended run can have, in every
//! spelling, and that a contradictory write is refused, never repaired.

use omx_kernel::{Mode, RefusalCode};

use crate::support::{NOW, SessionWorld, assert_ended};

fn ralph() -> SessionWorld {
    SessionWorld::live(Mode::Ralph, "executing", "")
}

#[test]
fn state_2_4_spellings_of_run_outcome_are_normalized_on_write() {
    let table: [(&str, &str, &[&str]); 3] = [
        ("blocked_on_user", "blocked", &["blocked_on_user", "blocked"]),
        ("failed", "failed", &["failed", "fail", "error"]),
        ("cancelled", "cancelled", &["cancelled", "canceled", "cancel", "aborted", "abort"]),
    ];
    for (outcome, lifecycle, words) in table {
        for word in words {
            let document = ralph().write(Mode::Ralph, &format!(r#"{{"run_outcome":"{word}"}}"#));
            assert_ended(&document, outcome, lifecycle);
        }
    }
    for word in ["finish", "finished", "complete", "completed", "done"] {
        let mut world = SessionWorld::live(Mode::CodeReview, "reviewing", "");
        let verdict = r#"{"recommendation":"APPROVE","architectural_status":"CLEAR"}"#;
        let input = format!(r#"{{"run_outcome":"{word}","review_verdict":{verdict}}}"#);
        assert_ended(&world.write(Mode::CodeReview, &input), "finish", "finished");
    }
}

#[test]
fn state_2_4_spellings_of_lifecycle_outcome_are_normalized_on_write() {
    let table = [
        ("blocked", "blocked_on_user", "blocked"),
        ("blocked_on_user", "blocked_on_user", "blocked"),
        ("askuserQuestion", "blocked_on_user", "blocked"),
        ("failed", "failed", "failed"),
        ("fail", "failed", "failed"),
        ("error", "failed", "failed"),
        ("cancelled", "cancelled", "cancelled"),
        ("canceled", "cancelled", "cancelled"),
        ("aborted", "cancelled", "cancelled"),
        ("abort", "cancelled", "cancelled"),
        ("userinterlude", "cancelled", "cancelled"),
    ];
    for (word, outcome, lifecycle) in table {
        let input = format!(r#"{{"lifecycle_outcome":"{word}"}}"#);
        assert_ended(&ralph().write(Mode::Ralph, &input), outcome, lifecycle);
    }
    for word in ["finished", "finish", "complete", "completed", "done"] {
        let mut world = SessionWorld::live(Mode::Ultraqa, "qa", "");
        let check = r#""last_check":{"command":"make","exit_code":0}"#;
        let input = format!(r#"{{"lifecycle_outcome":"{word}",{check}}}"#);
        assert_ended(&world.write(Mode::Ultraqa, &input), "finish", "finished");
    }
}

#[test]
fn state_2_1_progress_is_accepted_and_stored() {
    let mut world = ralph();
    let document = world.write(Mode::Ralph, r#"{"run_outcome":"progress"}"#);
    assert_eq!(document.get_str("run_outcome"), Some("progress"));
    assert!(document.is_active());
    let document = world.write(Mode::Ralph, r#"{"iteration":1}"#);
    assert_eq!(document.get_str("run_outcome"), Some("progress"));
    let document = world.write(Mode::Ralph, r#"{"run_outcome":"continue"}"#);
    assert_eq!(document.get_str("run_outcome"), Some("continue"));
}

#[test]
fn state_3_3_an_unknown_outcome_is_invalid_outcome() {
    for mode in Mode::ALL {
        for word in ["", "bogus", "Finish", "success"] {
            let mut world = SessionWorld::new();
            for field in ["run_outcome", "lifecycle_outcome"] {
                let input = format!(r#"{{"active":false,"{field}":"{word}"}}"#);
                world.write_refused(mode, RefusalCode::InvalidOutcome, &input);
            }
        }
        SessionWorld::new().write_refused(
            mode,
            RefusalCode::InvalidOutcome,
            r#"{"active":false,"lifecycle_outcome":"continue"}"#,
        );
    }
}

#[test]
fn state_2_3_a_terminal_outcome_or_phase_ends_the_run() {
    for input in [
        r#"{"run_outcome":"failed"}"#,
        r#"{"lifecycle_outcome":"failed"}"#,
        r#"{"current_phase":"failed"}"#,
        r#"{"active":false,"run_outcome":"failed"}"#,
        r#"{"state":{"current_phase":"failed"}}"#,
    ] {
        let document = ralph().write(Mode::Ralph, input);
        assert_ended(&document, "failed", "failed");
        assert_eq!(document.phase(), Some("failed"));
        assert_eq!(document.get_str("completed_at"), Some(NOW));
    }
}

#[test]
fn state_2_3_active_false_alone_ends_the_run_as_cancelled() {
    for mode in Mode::ALL {
        let phase = mode.spec().phases.first().copied().unwrap_or("stage:1");
        let document = SessionWorld::live(mode, phase, "").write(mode, r#"{"active":false}"#);
        assert_ended(&document, "cancelled", "cancelled");
        let first = SessionWorld::new().write(mode, r#"{"active":false}"#);
        assert_ended(&first, "cancelled", "cancelled");
    }
}

#[test]
fn state_2_3_a_contradictory_write_is_refused_and_never_repaired() {
    let on_a_live_run = [
        r#"{"active":true,"run_outcome":"finish"}"#,
        r#"{"active":true,"run_outcome":"blocked_on_user"}"#,
        r#"{"active":true,"run_outcome":"failed"}"#,
        r#"{"active":true,"run_outcome":"cancelled"}"#,
        r#"{"active":true,"lifecycle_outcome":"finished"}"#,
        r#"{"active":true,"current_phase":"complete"}"#,
        r#"{"active":true,"current_phase":"failed"}"#,
        r#"{"active":true,"current_phase":"blocked"}"#,
        r#"{"active":true,"completed_at":"2026-11-15T11:00:00Z"}"#,
        r#"{"active":false,"run_outcome":"continue"}"#,
        r#"{"active":false,"run_outcome":"progress"}"#,
        r#"{"active":false,"current_phase":"verifying"}"#,
        r#"{"active":false,"start":true}"#,
        r#"{"active":false,"resume":true}"#,
        r#"{"start":true,"resume":true}"#,
        r#"{"start":true,"run_outcome":"failed"}"#,
        r#"{"resume":true,"current_phase":"cancelled"}"#,
        r#"{"completed_at":"2026-11-15T11:00:00Z"}"#,
        r#"{"run_outcome":"continue","lifecycle_outcome":"failed"}"#,
        r#"{"run_outcome":"continue","current_phase":"failed"}"#,
        r#"{"run_outcome":"failed","lifecycle_outcome":"cancelled"}"#,
        r#"{"run_outcome":"failed","current_phase":"complete"}"#,
        r#"{"run_outcome":"finish","current_phase":"fixing"}"#,
        r#"{"run_outcome":"failed","waiting":{"kind":"network"}}"#,
        r#"{"active":false,"waiting":{"kind":"network"}}"#,
        r#"{"state":{"active":true},"run_outcome":"failed"}"#,
    ];
    for input in on_a_live_run {
        let mut world = ralph();
        world.write_refused(Mode::Ralph, RefusalCode::Contradiction, input);
        if !input.contains("resume") && !input.starts_with(r#"{"completed_at"#) {
            // A first write without `active` is refused for that reason.
            let result = SessionWorld::new().plan(Mode::Ralph, input);
            let allowed = input == r#"{"active":false,"current_phase":"verifying"}"#;
            assert_eq!(result.is_ok(), allowed, "{input}: {result:?}");
        }
    }
}

#[test]
fn state_2_3_completed_at_may_be_given_with_an_ending() {
    let input = r#"{"run_outcome":"failed","completed_at":"2026-11-15T11:00:00Z"}"#;
    let document = ralph().write(Mode::Ralph, input);
    assert_eq!(document.get_str("completed_at"), Some("2026-11-15T11:00:00Z"));
    SessionWorld::new().write_refused(
        Mode::Ralph,
        RefusalCode::Contradiction,
        r#"{"active":true,"completed_at":"2026-11-15T11:00:00Z"}"#,
    );
}

#[test]
fn state_2_3_the_next_write_repairs_the_outcome_of_a_live_document_by_another_program() {
    let mut world = SessionWorld::with(
        Mode::Ralph,
        r#"{"active":true,"current_phase":"executing","lifecycle_outcome":"failed","completed_at":"2026-11-15T11:00:00Z"}"#,
    );
    let document = world.write(Mode::Ralph, r#"{"iteration":1}"#);
    assert_eq!(document.get_str("run_outcome"), Some("continue"));
    assert_eq!(document.get("lifecycle_outcome"), None);
    assert_eq!(document.get("completed_at"), None);
}

#[test]
fn state_2_3b_a_waiting_run_stays_active() {
    for kind in ["rate_limit", "network", "worker"] {
        let mut world = ralph();
        let input = format!(r#"{{"waiting":{{"kind":"{kind}","until":"2026-11-15T13:00:00Z"}}}}"#);
        let document = world.write(Mode::Ralph, &input);
        assert!(document.is_active());
        assert_eq!(document.get("waiting").unwrap().get("kind").unwrap().as_str(), Some(kind));
        let document = world.write(Mode::Ralph, r#"{"run_outcome":"failed"}"#);
        assert_eq!(document.get("waiting"), None, "an ended run waits for nothing");
    }
    for bad in [
        r#"{"kind":"person"}"#,
        r#"{}"#,
        r#""rate_limit""#,
        r#"{"kind":"network","until":"tomorrow"}"#,
    ] {
        let input = format!(r#"{{"waiting":{bad}}}"#);
        ralph().write_refused(Mode::Ralph, RefusalCode::InvalidInput, &input);
    }
}

//! state.md 2.3 to 2.4: when a run is live, how it ends, and how it is resumed.

use std::fs;

use omx_testkit::{MODES, TestProject};
use serde_json::{Value, json};

use crate::project;

#[track_caller]
fn refused(project: &TestProject, input: Value, code: &str) {
    let before = project.kept();
    let outcome = project.state_op("write", &input);
    assert_eq!(outcome.refused(), code, "{input}: {outcome:?}");
    assert_eq!(project.kept(), before, "{input}");
}

#[track_caller]
fn started(mode: &str) -> TestProject {
    let project = project();
    project.put(json!({"mode":mode,"active":true,"task_description":"first"}));
    project
}

#[track_caller]
fn assert_ended(document: &Value, outcome: &str, lifecycle: &str) {
    assert_eq!(document["active"], false, "{document}");
    assert_eq!(document["run_outcome"], outcome, "{document}");
    assert_eq!(document["lifecycle_outcome"], lifecycle, "{document}");
    assert!(document["completed_at"].is_string(), "{document}");
}

#[test]
fn state_2_3_a_live_run_has_a_live_outcome_and_no_end_in_every_mode() {
    for mode in MODES {
        let project = started(mode);
        let document = project.document(mode);
        assert_eq!(document["active"], true);
        assert_eq!(document["run_outcome"], "continue");
        assert!(
            document.get("completed_at").is_none() && document.get("lifecycle_outcome").is_none()
        );
        project.put(json!({"mode":mode,"run_outcome":"progress"}));
        project.put(json!({"mode":mode,"note":1}));
        assert_eq!(project.document(mode)["run_outcome"], "progress", "accepted and kept");
    }
}

#[test]
fn state_2_3_a_terminal_outcome_or_phase_ends_the_run_in_every_mode() {
    let table = [
        (json!({"run_outcome":"blocked_on_user"}), "blocked_on_user", "blocked"),
        (json!({"run_outcome":"failed","error":"why"}), "failed", "failed"),
        (json!({"run_outcome":"cancelled"}), "cancelled", "cancelled"),
        (json!({"lifecycle_outcome":"failed"}), "failed", "failed"),
        (json!({"current_phase":"failed"}), "failed", "failed"),
        (json!({"current_phase":"cancelled"}), "cancelled", "cancelled"),
        (json!({"current_phase":"blocked_on_user"}), "blocked_on_user", "blocked"),
        (json!({"active":false}), "cancelled", "cancelled"),
        (json!({"active":false,"run_outcome":"failed"}), "failed", "failed"),
    ];
    for mode in MODES {
        for (end, outcome, lifecycle) in &table {
            let project = started(mode);
            let phase = project.document(mode)["current_phase"].clone();
            let mut input = end.clone();
            input["mode"] = json!(mode);
            project.put(input);
            let document = project.document(mode);
            assert_ended(&document, outcome, lifecycle);
            let keeps =
                *lifecycle == "blocked" || (mode == "autopilot" && *lifecycle == "cancelled");
            let expected = if keeps { phase } else { json!(lifecycle) };
            assert_eq!(document["current_phase"], expected, "{mode} {end}");
        }
    }
}

#[test]
fn state_2_3_a_finish_ends_with_complete() {
    let project = project();
    project.put(json!({"mode":"ultraqa","active":true}));
    let check = json!({"command":"true","exit_code":0});
    project.put(json!({"mode":"ultraqa","run_outcome":"finish","last_check":check}));
    let document = project.document("ultraqa");
    assert_ended(&document, "finish", "finished");
    assert_eq!(document["current_phase"], "complete");
}

#[test]
fn state_2_3_a_contradictory_write_is_refused_and_not_repaired() {
    let time = "2026-01-31T12:00:00Z";
    let both = [
        json!({"active":true,"run_outcome":"failed"}),
        json!({"active":true,"current_phase":"cancelled"}),
        json!({"active":true,"lifecycle_outcome":"blocked"}),
        json!({"active":true,"completed_at":time}),
        json!({"completed_at":time}),
        json!({"active":false,"run_outcome":"continue"}),
        json!({"active":false,"run_outcome":"progress"}),
        json!({"active":false,"current_phase":"executing"}),
        json!({"run_outcome":"failed","lifecycle_outcome":"cancelled"}),
        json!({"run_outcome":"continue","current_phase":"failed"}),
        json!({"run_outcome":"cancelled","current_phase":"failed"}),
        json!({"start":true,"resume":true}),
        json!({"active":false,"start":true}),
        json!({"active":false,"resume":true}),
        json!({"run_outcome":"failed","waiting":{"kind":"network"}}),
    ];
    let project = started("ralph");
    for mut input in both {
        input["mode"] = json!("ralph");
        refused(&project, input, "contradiction");
    }
    let project = crate::project();
    let first = json!({"mode":"ralph","active":true,"run_outcome":"finish"});
    assert_eq!(project.state_op("write", &first).refused(), "contradiction");
    assert!(!project.state("ralph-state.json").exists());
}

#[test]
fn state_2_3a_a_write_without_active_leaves_an_ended_document_ended() {
    for end in ["blocked_on_user", "failed", "cancelled"] {
        let project = started("ralph");
        project.put(json!({"mode":"ralph","run_outcome":end}));
        let before = project.document("ralph");
        project.put(json!({"mode":"ralph","note":1,"iteration":2}));
        project.put(json!({"mode":"ralph","run_outcome":end,"active":false}));
        let after = project.document("ralph");
        for name in ["active", "run_outcome", "lifecycle_outcome", "completed_at", "current_phase"]
        {
            assert_eq!(before[name], after[name], "{end} {name}");
        }
        assert_eq!(after["note"], 1);
        refused(&project, json!({"mode":"ralph","run_outcome":"continue"}), "contradiction");
        refused(
            &project,
            json!({"mode":"ralph","current_phase":"verifying"}),
            "illegal_transition",
        );
        let other = if end == "failed" { "cancelled" } else { "failed" };
        refused(&project, json!({"mode":"ralph","run_outcome":other}), "illegal_transition");
    }
}

#[test]
fn state_2_3a_active_on_a_finished_or_failed_run_starts_a_new_one() {
    for end in [
        json!({"mode":"ultraqa","run_outcome":"failed","error":"e"}),
        json!({"mode":"ultraqa","run_outcome":"finish","last_check":{"command":"c","exit_code":0}}),
    ] {
        let project = started("ultraqa");
        project.put(json!({"mode":"ultraqa","iteration":2,"foreign":1}));
        project.put(end);
        let answer = project.put(json!({"mode":"ultraqa","active":true}));
        assert_eq!(answer["revision"], 4, "only the revision is carried over");
        let document = project.document("ultraqa");
        for gone in [
            "foreign",
            "error",
            "completed_at",
            "lifecycle_outcome",
            "task_description",
            "last_check",
            "ended_in_phase",
        ] {
            assert!(document.get(gone).is_none(), "{gone} in {document}");
        }
        assert_eq!(document["current_phase"], "qa");
        assert_ne!(document["iteration"], 2);
    }
}

#[test]
fn state_2_3a_active_on_a_cancelled_run_needs_start() {
    for mode in MODES {
        let project = started(mode);
        assert_eq!(project.omx(&["cancel"]).code, Some(0));
        let late = json!({"mode":mode,"active":true,"note":"late"});
        let outcome = project.state_op("write", &late);
        assert_eq!(outcome.refused(), "recently_cancelled", "{mode}");
        assert!(outcome.json()["error"].as_str().unwrap().contains("\"start\": true"), "{mode}");
        refused(&project, late, "recently_cancelled");
        let answer = project.put(json!({"mode":mode,"active":true,"start":true}));
        assert_eq!(answer["revision"], 3, "{mode}");
        let document = project.document(mode);
        assert!(document["active"] == true && document.get("task_description").is_none());
        assert!(document.get("start").is_none(), "{mode}: not a field");
    }
}

#[test]
fn state_2_3a_resume_reopens_a_run_with_all_its_fields() {
    for mode in MODES {
        for end in ["blocked_on_user", "failed", "cancelled"] {
            let project = started(mode);
            let phase = project.document(mode)["current_phase"].clone();
            project.put(json!({"mode":mode,"foreign":{"kept":true}}));
            project.put(json!({"mode":mode,"run_outcome":end}));
            let resume = json!({"mode":mode,"resume":true});
            if end == "cancelled" && !matches!(mode, "autopilot" | "ralplan") {
                refused(&project, resume, "illegal_transition");
                continue;
            }
            let answer = project.put(resume);
            assert_eq!(answer["revision"], 4);
            let document = project.document(mode);
            assert_eq!(document["active"], true, "{mode} {end}");
            assert_eq!(document["current_phase"], phase, "{mode} {end}");
            assert_eq!(document["task_description"], "first");
            assert_eq!(document["foreign"], json!({"kept":true}));
            assert_eq!(document["run_outcome"], "continue");
            for gone in ["completed_at", "lifecycle_outcome", "resume", "ended_in_phase"] {
                assert!(document.get(gone).is_none(), "{gone} in {document}");
            }
        }
    }
    let none = project();
    let outcome = none.state_op("write", &json!({"mode":"ralph","resume":true}));
    assert_eq!(outcome.refused(), "illegal_transition");
}

#[test]
fn state_2_3a_a_finished_run_is_not_resumed() {
    let project = started("ultraqa");
    let check = json!({"command":"true","exit_code":0});
    project.put(json!({"mode":"ultraqa","current_phase":"complete","last_check":check}));
    refused(&project, json!({"mode":"ultraqa","resume":true}), "illegal_transition");
}

#[test]
fn state_2_3b_a_run_that_waits_stays_active() {
    let project = started("ralph");
    let until = "2026-11-15T12:00:00Z";
    for waiting in [
        json!({"kind":"rate_limit","until":until}),
        json!({"kind":"network"}),
        json!({"kind":"worker","until":null}),
    ] {
        project.put(json!({"mode":"ralph","waiting":waiting}));
        let document = project.document("ralph");
        assert_eq!((&document["waiting"], &document["active"]), (&waiting, &json!(true)));
    }
    for waiting in [
        json!({"kind":"coffee"}),
        json!({}),
        json!("network"),
        json!([]),
        json!(true),
        json!({"kind":"network","until":"soon"}),
        json!({"until":until}),
    ] {
        refused(&project, json!({"mode":"ralph","waiting":waiting}), "invalid_input");
    }
    project.put(json!({"mode":"ralph","waiting":null}));
    assert!(project.document("ralph").get("waiting").is_none());
    project.put(json!({"mode":"ralph","waiting":{"kind":"network"}}));
    project.put(json!({"mode":"ralph","run_outcome":"failed"}));
    assert!(project.document("ralph").get("waiting").is_none(), "an ended run waits for nothing");
}

/// Cancels, clears and then attempts a late write of the cancelled run.
#[track_caller]
fn guarded(session: Option<&str>, clear: &[&str]) {
    let project = project();
    let request = |mut input: Value| {
        if let Some(session) = session {
            input["session_id"] = json!(session);
        }
        input
    };
    project.put(request(json!({"mode":"ralph","active":true})));
    assert_eq!(project.omx(&["cancel"]).code, Some(0));
    assert_eq!(project.omx(clear).code, Some(0));
    let document = match session {
        Some(session) => project.session(session, "ralph-state.json"),
        None => project.state("ralph-state.json"),
    };
    assert!(!document.exists());
    let late = request(json!({"mode":"ralph","active":true}));
    refused(&project, late.clone(), "recently_cancelled");
    project.put(request(json!({"mode":"ultrawork","active":true})));
    let record =
        project.state(".activity").join(format!("{}.json", session.unwrap_or("_compatibility")));
    let text = fs::read_to_string(&record).unwrap();
    let activity: Value = serde_json::from_str(&text).unwrap();
    let until = activity["cleared"]["ralph"]["cancelled_until"].as_str().unwrap();
    fs::write(&record, text.replace(until, "2026-01-01T00:00:00.000Z")).unwrap();
    let answer = project.put(late);
    assert_eq!(answer["revision"], 3, "revisions go on where the cleared document ended");
}

#[test]
fn state_2_3c_after_clear_the_guard_holds_until_its_minute_is_over() {
    guarded(None, &["state", "clear", "--mode", "ralph"]);
    guarded(Some("s"), &["state", "clear", "--mode", "ralph", "--session-id", "s"]);
    guarded(Some("s"), &["state", "clear", "--input", r#"{"mode":"ralph","all_sessions":true}"#]);
}

#[test]
fn state_2_3c_after_force_the_guard_holds_until_its_minute_is_over() {
    guarded(None, &["cancel", "--force"]);
    guarded(Some("s"), &["cancel", "--all"]);
}

#[test]
fn state_2_3c_the_guard_lasts_one_minute_and_start_bypasses_it() {
    let project = started("ralph");
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
    let text = project.read(project.state(".activity/_compatibility.json"));
    let activity: Value = serde_json::from_str(&text).unwrap();
    let until = activity["cleared"]["ralph"]["cancelled_until"].as_str().unwrap();
    let now = jiff::Timestamp::now();
    let left = until.parse::<jiff::Timestamp>().unwrap().duration_since(now).as_secs();
    assert!((30..=60).contains(&left), "{left} s left");
    project.put(json!({"mode":"ralph","start":true,"active":true}));
}

#[test]
fn state_2_3c_the_clear_of_a_live_document_guards_against_a_late_write() {
    for session in [None, Some("s")] {
        let project = project();
        let request = |mut input: Value| {
            if let Some(session) = session {
                input["session_id"] = json!(session);
            }
            input
        };
        project.put(request(json!({"mode":"ralph","active":true})));
        project.state_op("clear", &request(json!({"mode":"ralph"}))).ok();
        refused(&project, request(json!({"mode":"ralph","active":true})), "recently_cancelled");
        assert_eq!(project.omx(&["state", "list-active", "--json"]).ok()["entries"], json!([]));
        // A new start is meant, and a document that had ended needs no guard.
        project.put(request(json!({"mode":"ralph","start":true,"active":true})));
        project.put(request(json!({"mode":"ultrawork","active":true})));
        project.put(request(json!({"mode":"ultrawork","active":false,"run_outcome":"failed"})));
        project.state_op("clear", &request(json!({"mode":"ultrawork"}))).ok();
        project.put(request(json!({"mode":"ultrawork","active":true})));
    }
}

#[test]
fn state_2_4_spelling_variants_are_normalised_on_write() {
    let table = [
        ("blocked_on_user", "blocked", &["blocked", "blocked_on_user"][..]),
        ("failed", "failed", &["fail", "error", "failed"]),
        ("cancelled", "cancelled", &["canceled", "cancel", "aborted", "abort", "cancelled"]),
        ("finish", "finished", &["finished", "complete", "completed", "done", "finish"]),
    ];
    for (outcome, lifecycle, words) in table {
        for word in words {
            for field in ["run_outcome", "lifecycle_outcome"] {
                ended_by(field, word, outcome, lifecycle);
            }
        }
    }
    ended_by("lifecycle_outcome", "userinterlude", "cancelled", "cancelled");
    ended_by("lifecycle_outcome", "askuserQuestion", "blocked_on_user", "blocked");
}

#[track_caller]
fn ended_by(field: &str, word: &str, outcome: &str, lifecycle: &str) {
    let project = started("ultraqa");
    let check = json!({"command":"true","exit_code":0});
    project.put(json!({"mode":"ultraqa","last_check":check,field:word}));
    assert_ended(&project.document("ultraqa"), outcome, lifecycle);
}

#[test]
fn state_2_4_values_in_another_case_or_unknown_are_refused() {
    let project = started("ralph");
    for word in ["Done", "FAILED", "", " failed", "bogus", "userinterlude"] {
        refused(&project, json!({"mode":"ralph","run_outcome":word}), "invalid_outcome");
    }
    for word in ["continue", "progress", "askuserquestion", ""] {
        refused(&project, json!({"mode":"ralph","lifecycle_outcome":word}), "invalid_outcome");
    }
}

//! cancel.md 3: what a cancelled document says, and that it stays cancelled.

use omx_testkit::TestProject;
use serde_json::{Map, Value, json};

use crate::cancel_kit::{MODES, live_phase, plant, stored};
use crate::project;

/// Removes the fields with the time of the cancel from a document, after checking
/// that they are equal.
#[track_caller]
fn without_times(mut document: Value) -> Map<String, Value> {
    let fields = document.as_object_mut().unwrap();
    let completed = fields.remove("completed_at").expect("completed_at");
    assert_eq!(fields.remove("updated_at"), Some(completed.clone()));
    let text = completed.as_str().unwrap();
    assert!(text.starts_with("20") && text.ends_with('Z'), "{text}");
    fields.clone()
}

/// The document before, with these fields laid over it.
fn with(before: &Value, more: Value) -> Map<String, Value> {
    let mut fields = before.as_object().unwrap().clone();
    fields.remove("updated_at");
    fields.extend(more.as_object().unwrap().clone());
    fields
}

/// An autopilot in its second review cycle.
fn autopilot_with_everything(project: &TestProject) -> Value {
    for plan in ["plan.md", "spec.md"] {
        project.write(plan, "x");
    }
    let write = |fields: Value| {
        let mut input = json!({"mode": "autopilot", "session_id": "s"});
        input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        project.put(input);
    };
    let plan = json!({"ralplan": {"plan_path": "plan.md", "test_spec_path": "spec.md"}});
    let work = json!({"ralph": {"changed_files": ["a.rs"], "evidence": [{"command": "make", "exit_code": 0}]}});
    write(
        json!({"active": true, "task_description": "a thing", "state": {"mine": [1, {"z": 1.10}]}}),
    );
    write(json!({"current_phase": "ralph", "handoff_artifacts": plan.clone()}));
    write(json!({"current_phase": "code-review", "handoff_artifacts": work}));
    write(json!({"current_phase": "ralplan",
        "review_verdict": {"recommendation": "REQUEST CHANGES", "architectural_status": "WATCH",
            "findings": [{"title": "leak", "file": "a.rs"}]},
        "handoff_artifacts": {"code_review": {"summary": "a leak"}},
        "return_to_ralplan_reason": "a leak"}));
    write(json!({"current_phase": "ralph", "handoff_artifacts": plan}));
    stored(project, Some("s"), "autopilot")
}

#[test]
fn cancel_3_1_every_mode_is_marked_cancelled_and_keeps_everything_else() {
    for mode in MODES.into_iter().filter(|mode| *mode != "autopilot") {
        for session in [None, Some("s")] {
            let project = project();
            plant(
                &project,
                session,
                mode,
                &json!({"plan_path": "p.md", "waiting": {"kind": "worker"}}),
            );
            let mut before = stored(&project, session, mode);
            before.as_object_mut().unwrap().remove("waiting");
            project.omx(&["cancel", "--json"]).ok();
            let wanted = with(
                &before,
                json!({"active": false, "run_outcome": "cancelled", "lifecycle_outcome": "cancelled",
                    "current_phase": "cancelled", "ended_in_phase": live_phase(mode), "revision": 8}),
            );
            assert_eq!(without_times(stored(&project, session, mode)), wanted, "{mode}");
        }
    }
}

#[test]
fn cancel_3_2_autopilot_keeps_its_phase_and_its_fields() {
    let project = project();
    let before = autopilot_with_everything(&project);
    assert_eq!((&before["iteration"], &before["review_cycle"]), (&json!(2), &json!(1)));
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"][0]["phase"], "ralph");
    assert_eq!(answer["cancelled"][0]["preserved"], true);
    let wanted = with(
        &before,
        json!({"active": false, "run_outcome": "cancelled", "lifecycle_outcome": "cancelled",
            "revision": before["revision"].as_u64().unwrap() + 1}),
    );
    assert_eq!(wanted["current_phase"], "ralph");
    assert_eq!(without_times(stored(&project, Some("s"), "autopilot")), wanted);
}

#[test]
fn cancel_3_2_autopilot_resumes_with_all_its_fields() {
    let project = project();
    let before = autopilot_with_everything(&project);
    project.omx(&["cancel", "--json"]).ok();
    project.put(json!({"mode": "autopilot", "session_id": "s", "resume": true}));
    let after = stored(&project, Some("s"), "autopilot");
    let revision = json!({"revision": before["revision"].as_u64().unwrap() + 2});
    let mut fields = after.as_object().unwrap().clone();
    fields.remove("updated_at");
    assert_eq!(fields, with(&before, revision));
    // It continues where it was.
    let evidence = json!([{"command": "make", "exit_code": 0}]);
    project.put(json!({"mode": "autopilot", "session_id": "s", "current_phase": "code-review",
        "handoff_artifacts": {"ralph": {"changed_files": ["a.rs"], "evidence": evidence}}}));
}

#[test]
fn cancel_3_2_ralplan_keeps_its_plan_and_resumes_in_its_phase() {
    let project = project();
    let plan = json!({"plan_path": "plan.md", "test_spec_path": "spec.md",
        "consensus": {"architect": "APPROVE"}});
    plant(&project, Some("s"), "ralplan", &plan);
    let before = stored(&project, Some("s"), "ralplan");
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"][0]["preserved"], true);
    let tombstone = stored(&project, Some("s"), "ralplan");
    assert_eq!(tombstone["current_phase"], "cancelled");
    assert_eq!(tombstone["plan_path"], "plan.md");
    project.put(json!({"mode": "ralplan", "session_id": "s", "resume": true}));
    let mut fields = stored(&project, Some("s"), "ralplan").as_object().unwrap().clone();
    fields.remove("updated_at");
    assert_eq!(fields, with(&before, json!({"revision": 9})));
}

#[test]
fn cancel_3_3_ralph_takes_the_final_phase_of_its_linked_team() {
    let table = [
        ("finish", "complete", "complete", "finish", "finished"),
        ("failed", "failed", "failed", "failed", "failed"),
        ("cancelled", "cancelled", "cancelled", "cancelled", "cancelled"),
        ("blocked_on_user", "team-exec", "cancelled", "cancelled", "cancelled"),
    ];
    for (outcome, team_phase, phase, run_outcome, lifecycle) in table {
        let project = project();
        let ended = "2026-02-03T04:05:06.000Z";
        plant(
            &project,
            Some("s"),
            "team",
            &json!({"active": false, "run_outcome": outcome, "current_phase": team_phase,
                "completed_at": ended, "linked_ralph": true}),
        );
        plant(&project, Some("s"), "ralph", &json!({"linked_team": true}));
        let team = project.read(".omx/state/sessions/s/team-state.json");
        let answer = project.omx(&["cancel", "--json"]).ok();
        // A team that waits for the person is open, and cancelled first.
        let is_open = outcome == "blocked_on_user";
        let modes = answer["cancelled"].as_array().unwrap().iter().map(|entry| &entry["mode"]);
        let expected = if is_open { vec!["team", "ralph"] } else { vec!["ralph"] };
        assert_eq!(modes.collect::<Vec<_>>(), expected, "{answer}");
        let ralph = stored(&project, Some("s"), "ralph");
        assert_eq!(ralph["active"], false);
        assert_eq!(ralph["current_phase"], phase, "{outcome}");
        assert_eq!(ralph["run_outcome"], run_outcome, "{outcome}");
        assert_eq!(ralph["lifecycle_outcome"], lifecycle, "{outcome}");
        assert_eq!(ralph["linked_team_terminal_phase"], phase, "{outcome}");
        let team_after = project.read(".omx/state/sessions/s/team-state.json");
        assert_eq!(team_after == team, !is_open);
        let team: Value = serde_json::from_str(&team_after).unwrap();
        assert_eq!(ralph["linked_team_terminal_at"], team["completed_at"]);
    }
}

/// Writes that a cancelled run might still have in flight, and how each ends.
fn late_writes() -> Vec<(Value, Option<&'static str>)> {
    vec![
        (json!({"active": true}), Some("recently_cancelled")),
        (json!({"active": true, "run_outcome": "continue"}), Some("recently_cancelled")),
        (json!({"run_outcome": "continue"}), Some("contradiction")),
        (json!({"run_outcome": "progress"}), Some("contradiction")),
        (json!({"active": true, "run_outcome": "cancelled"}), Some("contradiction")),
        (json!({"run_outcome": "finish"}), Some("illegal_transition")),
        (json!({"run_outcome": "failed"}), Some("illegal_transition")),
        (json!({"current_phase": "complete"}), Some("illegal_transition")),
        (json!({"iteration": 3}), None),
        (json!({"state": {"note": "late"}}), None),
        (json!({"active": false}), None),
    ]
}

#[test]
fn cancel_3_4_no_late_write_reactivates_a_cancelled_run() {
    for mode in MODES {
        let project = project();
        plant(&project, Some("s"), mode, &json!({}));
        project.omx(&["cancel", "--json"]).ok();
        let before = stored(&project, Some("s"), mode);
        for (mut input, wanted) in late_writes() {
            input["mode"] = json!(mode);
            input["session_id"] = json!("s");
            let outcome = project.state_op("write", &input);
            match wanted {
                Some(code) => assert_eq!(outcome.refused(), code, "{mode}: {input}"),
                None => assert_eq!(outcome.ok()["success"], true, "{mode}: {input}"),
            }
            let after = stored(&project, Some("s"), mode);
            for name in
                ["active", "run_outcome", "lifecycle_outcome", "current_phase", "completed_at"]
            {
                assert_eq!(after[name], before[name], "{mode}: {input}");
            }
        }
        // An explicit start does, as a new run with a higher revision.
        let revision = stored(&project, Some("s"), mode)["revision"].as_u64().unwrap();
        let start = json!({"mode": mode, "session_id": "s", "start": true});
        assert_eq!(project.put(start)["revision"], revision + 1);
        let fresh = stored(&project, Some("s"), mode);
        assert_eq!((&fresh["active"], &fresh["foreign"]), (&json!(true), &Value::Null), "{mode}");
    }
}

#[test]
fn cancel_3_4_only_autopilot_and_ralplan_are_resumed_after_a_cancel() {
    for mode in MODES {
        let project = project();
        plant(&project, Some("s"), mode, &json!({}));
        project.omx(&["cancel", "--json"]).ok();
        let resume = json!({"mode": mode, "session_id": "s", "resume": true});
        let outcome = project.state_op("write", &resume);
        if mode == "autopilot" || mode == "ralplan" {
            assert_eq!(outcome.ok()["revision"], 9);
        } else {
            assert_eq!(outcome.refused(), "illegal_transition", "{mode}");
        }
    }
}

#[test]
fn cancel_3_4_after_a_cancel_no_stop_of_the_session_is_held() {
    let project = project();
    project.put(json!({"mode": "ralph", "active": true, "session_id": "s"}));
    let held = project.omx(&["status", "--json"]).ok();
    assert_eq!(held["stops"][0]["held"], true, "{held}");
    project.omx(&["cancel", "--json"]).ok();
    let after = project.omx(&["status", "--json"]).ok();
    assert_eq!((&after["stops"], &after["active_modes"]), (&json!([]), &json!([])));
}

#[test]
fn cancel_3_4_3_7_a_late_write_revives_nothing_that_clear_or_force_removed() {
    for removal in
        [&["state", "clear", "--mode", "ralph", "--session-id", "s"][..], &["cancel", "--force"]]
    {
        let project = project();
        plant(&project, Some("s"), "ralph", &json!({}));
        project.omx(&["cancel", "--json"]).ok();
        assert_eq!(project.omx(removal).code, Some(0));
        assert!(!project.session("s", "ralph-state.json").exists());
        let writes = [
            (json!({"active": true}), "recently_cancelled"),
            (json!({"active": true, "current_phase": "executing"}), "recently_cancelled"),
            (json!({"iteration": 4}), "invalid_input"),
            (json!({"resume": true}), "illegal_transition"),
            // Neither directly nor through another outcome.
            (json!({"active": false, "run_outcome": "failed"}), "recently_cancelled"),
            (json!({"active": false, "run_outcome": "blocked_on_user"}), "recently_cancelled"),
        ];
        for (mut input, code) in writes {
            input["mode"] = json!("ralph");
            input["session_id"] = json!("s");
            assert_eq!(project.state_op("write", &input).refused(), code, "{input}");
            assert!(!project.session("s", "ralph-state.json").exists());
        }
        let start = json!({"mode": "ralph", "session_id": "s", "start": true});
        let revision = project.put(start)["revision"].as_u64().unwrap();
        assert!(revision > 8, "revisions go on: {revision}");
    }
}

#[test]
fn cancel_3_8_cancelling_twice_succeeds() {
    let project = project();
    plant(&project, Some("s"), "ralph", &json!({}));
    project.omx(&["cancel", "--session-id", "s"]);
    let before = project.bytes(".");
    for args in [&["cancel", "--session-id", "s"][..], &["cancel"], &["cancel", "--every-session"]]
    {
        let outcome = project.omx(args);
        assert_eq!(outcome.code, Some(0));
        assert_eq!(outcome.stdout.lines().next(), Some("No active OMX modes detected."));
    }
    assert_eq!(project.bytes("."), before, "not a byte is written");
}

//! state.md 2.3a, 3.2c and 3.4: misspelled fields, documents of other programs, folders
//! that are no sessions, and what a refusal on an ended run says.

use std::fs;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use crate::project;

fn write(project: &TestProject, input: &Value) -> Value {
    let outcome = project.omx(&["state", "write", "--json", "--input", &input.to_string()]);
    serde_json::from_str(&outcome.stdout).unwrap()
}

#[test]
fn state_3_2c_a_misspelled_field_is_refused_with_the_right_name() {
    let project = project();
    for (name, value, right) in [
        ("phase", json!("executing"), "current_phase"),
        ("currentPhase", json!("executing"), "current_phase"),
        ("curent_phase", json!("executing"), "current_phase"),
        ("sessionId", json!("s"), "session_id"),
        ("session-id", json!("s"), "session_id"),
        ("maxIterations", json!(3), "max_iterations"),
        ("max_iteration", json!(3), "max_iterations"),
        ("runOutcome", json!("failed"), "run_outcome"),
        ("expectedRevision", json!(1), "expected_revision"),
        ("completionAudit", json!({}), "completion_audit"),
    ] {
        let mut input = json!({"mode": "ralph", "active": true});
        input[name] = value;
        let answer = write(&project, &input);
        assert_eq!(answer["code"], "invalid_input", "{name}: {answer}");
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(&format!("{name:?}")) && error.contains(right), "{error}");
    }
    assert!(!project.root().join(".omx/state/ralph-state.json").exists());
    // Other words are stored, and `state` holds whatever it is given.
    let input =
        json!({"mode": "ralph", "active": true, "model": "m", "state": {"phase": "theirs"}});
    assert_eq!(write(&project, &input)["success"], true);
    let document: Value =
        serde_json::from_str(&project.read(".omx/state/ralph-state.json")).unwrap();
    assert_eq!((&document["model"], &document["phase"]), (&json!("m"), &json!("theirs")));
    assert_eq!(document["current_phase"], "starting");
}

#[test]
fn state_3_2c_the_phase_of_a_foreign_document_is_read() {
    let project = project();
    let document = r#"{"active":true,"phase":"ralph"}"#;
    project.write(".omx/state/sessions/s/autopilot-state.json", document);
    let listed = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(listed["entries"][0]["phase"], "ralph");
    let text = project.omx(&["cancel", "--session-id", "s"]).stdout;
    assert!(text.contains("Autopilot cancelled at phase: ralph."), "{text}");
    let document: Value =
        serde_json::from_str(&project.read(".omx/state/sessions/s/autopilot-state.json")).unwrap();
    assert_eq!(document["current_phase"], "ralph");
}

#[test]
fn state_2_3_a_document_that_claims_to_be_active_and_complete_holds_nothing() {
    let project = project();
    let path = ".omx/state/sessions/s/autopilot-state.json";
    project.write(path, r#"{"mode":"autopilot","active":true,"current_phase":"complete"}"#);
    let status = project.omx(&["status", "--json"]).ok();
    assert_eq!(status["active_modes"], json!([]), "{status}");
    // It is in nobody's way.
    let answer = write(&project, &json!({"mode": "ralph", "session_id": "s", "active": true}));
    assert_eq!(answer["success"], true, "{answer}");
}

#[test]
fn state_3_4_folders_with_unusable_names_are_reported_and_cleared_by_force() {
    let project = project();
    write(&project, &json!({"mode": "ralph", "session_id": "good", "active": true}));
    let odd = ["-dash", "with space", "dot.ted", "läng"];
    for name in odd {
        let path = format!(".omx/state/sessions/{name}/autopilot-state.json");
        project.write(&path, r#"{"mode":"autopilot","active":true,"current_phase":"ralph"}"#);
    }
    fs::create_dir_all(project.root().join(".omx/state/sessions/no documents")).unwrap();
    for arguments in [
        &["state", "list-active", "--json"][..],
        &["state", "get-status", "--json"],
        &["status", "--json"],
    ] {
        let answer = project.omx(arguments).ok();
        let found: Vec<&str> = answer["unreadable"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["session_id"].as_str().unwrap())
            .collect();
        assert_eq!(found.len(), odd.len(), "{arguments:?} {answer}");
        assert!(odd.iter().all(|name| found.contains(name)), "{found:?}");
        assert!(answer["unreadable"][0]["reason"].as_str().unwrap().contains("not a session id"));
    }
    let text = project.omx(&["status"]).stdout;
    assert!(text.contains("Unreadable: ") && text.contains("with space"), "{text}");
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
    for name in odd {
        assert!(!project.root().join(".omx/state/sessions").join(name).exists(), "{name}");
    }
    assert_eq!(project.omx(&["status", "--json"]).ok().get("unreadable"), None);
}

#[test]
fn state_2_3a_a_refusal_on_an_ended_run_names_resume_first() {
    for (mode, outcome) in
        [("autopilot", "failed"), ("autopilot", "cancelled"), ("ralph", "blocked_on_user")]
    {
        let project = project();
        write(&project, &json!({"mode": mode, "session_id": "s", "active": true}));
        write(&project, &json!({"mode": mode, "session_id": "s", "run_outcome": outcome}));
        let phase = if mode == "autopilot" { "code-review" } else { "verifying" };
        let mut late = vec![json!({"current_phase": phase}), json!({"run_outcome": "continue"})];
        if outcome != "failed" {
            late.push(json!({"active": true}));
        }
        for mut input in late {
            input["mode"] = json!(mode);
            input["session_id"] = json!("s");
            let answer = write(&project, &input);
            let error = answer["error"].as_str().unwrap_or_else(|| panic!("{input}: {answer}"));
            let [resume, start] =
                [r#""resume": true"#, r#""start": true"#].map(|way| error.find(way));
            assert!(resume.is_some() && resume < start, "{input}: {error}");
        }
        let again = json!({"mode": mode, "session_id": "s", "resume": true});
        assert_eq!(write(&project, &again)["success"], true);
    }
}

//! Seed 002, on state: its commands as they are written there, and what a record tells.

use serde_json::{Value, json};

use crate::project;

/// The page's commands: the operation, its input, and the MCP tool that mirrors it.
const COMMANDS: [(&str, Option<&str>, &str); 5] = [
    ("read", Some(r#"{"mode":"ralph"}"#), "state_read"),
    ("write", Some(r#"{"mode":"ralph","active":true,"current_phase":"executing"}"#), "state_write"),
    ("list-active", None, "state_list_active"),
    ("get-status", Some(r#"{"mode":"ralph"}"#), "state_get_status"),
    ("clear", Some(r#"{"mode":"ralph","all_sessions":true}"#), "state_clear"),
];

/// Replaces what differs between two projects: times and the root.
fn normal(value: &Value, root: &str) -> String {
    let mut text = value.to_string().replace(root, "ROOT");
    while let Some(at) = text.find("_at\":\"2") {
        text.replace_range(at..at + 30, "_at\":TIME");
    }
    text
}

#[test]
fn seed_002_the_commands_of_the_page_run_as_written_and_mirror_the_mcp_tools() {
    let (by_command, by_tool) = (project(), project());
    let mut server = by_tool.mcp();
    for (operation, input, tool) in COMMANDS {
        let mut args = vec!["state", operation];
        args.extend(input.iter().flat_map(|input| ["--input", input]));
        args.push("--json");
        let outcome = by_command.omx(&args);
        assert_eq!(outcome.stdout.lines().count(), 1, "{outcome:?}");
        let answer = outcome.ok();
        let arguments = input.map_or(json!({}), |input| serde_json::from_str(input).unwrap());
        let (is_error, mirrored) = server.call(tool, &arguments);
        assert!(!is_error, "{tool}: {mirrored}");
        let root = |project: &omx_testkit::TestProject| project.root().display().to_string();
        assert_eq!(
            normal(&answer, &root(&by_command)),
            normal(&mirrored, &root(&by_tool)),
            "{operation}"
        );
        match operation {
            "read" => assert_eq!(answer["exists"], false),
            "write" => assert_eq!(answer["success"], true),
            "list-active" => assert_eq!(answer["active_modes"], json!(["ralph"])),
            "get-status" => assert_eq!(answer["statuses"]["ralph"]["phase"], "executing"),
            _ => assert_eq!(answer["removed"], 1),
        }
    }
}

#[test]
fn seed_002_a_record_tells_mode_phase_iteration_and_outcome() {
    for (write, active, run_outcome, lifecycle) in [
        (json!({"iteration": 3}), true, "continue", Value::Null),
        (
            json!({"current_phase": "complete", "completion_audit": {"passed": true,
                "checklist": ["built"], "evidence": [{"command": "true", "exit_code": 0}]}}),
            false,
            "finish",
            json!("finished"),
        ),
        (
            json!({"run_outcome": "blocked_on_user", "error": "no token"}),
            false,
            "blocked_on_user",
            json!("blocked"),
        ),
        (json!({"run_outcome": "failed", "error": "no disk"}), false, "failed", json!("failed")),
        (json!({"active": false}), false, "cancelled", json!("cancelled")),
    ] {
        let project = project();
        project.put(json!({"mode": "ralph", "active": true, "current_phase": "verifying",
            "iteration": 2, "max_iterations": 9, "task_description": "repair the parser",
            "reviewer": {"name": "own field"}}));
        let mut input = write.clone();
        input["mode"] = json!("ralph");
        project.put(input);
        let status = project.omx(&["state", "get-status", "--mode", "ralph", "--json"]).ok();
        let record = &status["statuses"]["ralph"]["data"];
        assert_eq!(record["mode"], "ralph", "{write}");
        assert_eq!(record["active"], active, "{write}");
        assert!(record["current_phase"].is_string(), "{write}");
        assert!(record["iteration"].as_u64() >= Some(2), "{write}");
        assert_eq!(record["max_iterations"], 9, "{write}");
        assert_eq!(record["run_outcome"], run_outcome, "{write}");
        assert_eq!(record["lifecycle_outcome"], lifecycle, "{write}");
        assert_eq!(record["task_description"], "repair the parser", "{write}");
        assert_eq!(record["reviewer"], json!({"name": "own field"}), "{write}");
    }
}

#[test]
fn seed_002_a_dead_mode_is_found_cancelled_and_cleared() {
    let project = project();
    let old = json!({"mode": "ralph", "active": true, "current_phase": "executing",
        "updated_at": "2026-01-01T00:00:00.000Z"});
    project.write(".omx/state/sessions/gone/ralph-state.json", old.to_string());
    let listed = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(listed["entries"][0]["stale"], true, "{listed}");
    let doctor = project.omx(&["doctor", "--json"]).json().to_string();
    assert!(doctor.contains("stale") && doctor.contains("gone"), "{doctor}");
    assert_eq!(project.omx(&["cancel", "--session-id", "gone"]).code, Some(0));
    let clear = json!({"mode": "ralph", "all_sessions": true});
    assert_eq!(project.state_op("clear", &clear).ok()["removed"], 1);
    let status = project.omx(&["state", "get-status", "--json"]).ok();
    assert_eq!(status, json!({"statuses": {}, "sessions": {}}));
}

#[test]
fn seed_002_a_run_continues_where_its_record_is_in_another_process() {
    let project = project();
    let write = |input: Value| project.put(input);
    write(json!({"mode": "ultraqa", "active": true, "session_id": "s"}));
    write(json!({"mode": "ultraqa", "session_id": "s", "current_phase": "diagnose"}));
    let read = || project.state_op("read", &json!({"mode": "ultraqa", "session_id": "s"})).ok();
    assert_eq!(read()["current_phase"], "diagnose");
    // Each command is a process of its own; the next one builds on what the last one left.
    write(json!({"mode": "ultraqa", "session_id": "s", "current_phase": "fix"}));
    write(json!({"mode": "ultraqa", "session_id": "s", "current_phase": "qa"}));
    write(json!({"mode": "ultraqa", "session_id": "s", "current_phase": "complete",
        "last_check": {"command": "make test", "exit_code": 0}}));
    let end = read();
    assert_eq!((&end["active"], &end["run_outcome"]), (&json!(false), &json!("finish")));
    assert_eq!(end["revision"], 5);
}

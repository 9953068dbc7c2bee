//! state.md 3 to 3.2b: the arguments and answers of each operation.

use std::fs;
use std::path::Path;

use omx_testkit::CommandOutcome;
use serde_json::{Value, json};

use crate::project;

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

fn error(outcome: &CommandOutcome) -> String {
    outcome.json()["error"].as_str().unwrap().to_owned()
}

#[test]
fn state_3_read_returns_the_document_or_reports_that_none_exists() {
    let project = project();
    let none = project.omx(&["state", "read", "--mode", "ralph", "--json"]);
    assert_eq!(none.ok(), json!({"exists":false,"mode":"ralph"}));
    project.put(json!({"mode":"ralph","active":true,"foreign":{"a":[1]}}));
    let read = project.state_op("read", &json!({"mode":"ralph"})).ok();
    assert_eq!(read, project.document("ralph"));
    let other = project.state_op("read", &json!({"mode":"ralph","session_id":"s"})).ok();
    assert_eq!(other, json!({"exists":false,"mode":"ralph"}));
    let alias = project.omx(&["state", "read", "--mode", "plan-consensus", "--json"]);
    assert_eq!(alias.ok(), json!({"exists":false,"mode":"ralplan"}));
}

#[test]
fn state_3_write_answers_with_path_and_revision_and_merges() {
    let project = project();
    let path = text(project.session("s", "autopilot-state.json"));
    for revision in 1..4 {
        let answer = project.put(json!({
            "mode":"autopilot","active":true,"session_id":"s","state":{format!("k{revision}"):revision},
        }));
        let expected = json!({"success":true,"mode":"autopilot","path":path,"revision":revision});
        assert_eq!(answer, expected);
    }
    let document = project.session_document("s", "autopilot");
    assert_eq!(json!([document["k1"], document["k2"], document["k3"]]), json!([1, 2, 3]));
}

#[test]
fn state_3_write_merges_handoff_artifacts_by_key_and_replaces_other_values() {
    for mode in ["autopilot", "ralph", "pipeline", "team"] {
        let project = project();
        project.put(json!({"mode":mode,"active":true,"other":{"a":1}}));
        project.put(json!({"mode":mode,"handoff_artifacts":{"a":{"x":1},"b":1}}));
        project.put(json!({"mode":mode,"handoff_artifacts":{"a":{"y":2}},"other":{"b":2}}));
        let document = project.document(mode);
        let artifacts = &document["handoff_artifacts"];
        assert_eq!(json!([artifacts["a"], artifacts["b"]]), json!([{"y":2}, 1]), "{mode}");
        assert_eq!(document["other"], json!({"b":2}), "{mode}");
    }
}

#[test]
fn state_3_null_is_stored_for_a_modes_own_fields_and_removes_any_other() {
    let project = project();
    let own = json!({"completion_audit_path":"x","linked_to":"y"});
    project.put(json!({"mode":"ralph","active":true,"error":"e","foreign":1,"state":own}));
    project.put(json!({
        "mode":"ralph","error":null,"foreign":null,"completion_audit_path":null,"state":{"linked_to":null},
    }));
    let document = project.document("ralph");
    assert_eq!(document.get("completion_audit_path"), Some(&Value::Null));
    assert_eq!(document.get("linked_to"), Some(&Value::Null));
    assert!(document.get("error").is_none() && document.get("foreign").is_none(), "{document}");
}

#[test]
fn state_3_expected_revision_guards_a_write() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"expected_revision":0}));
    project.put(json!({"mode":"ralph","a":1,"expected_revision":1}));
    let before = project.kept();
    let late = project.state_op("write", &json!({"mode":"ralph","b":1,"expected_revision":1}));
    assert_eq!(late.refused(), "revision_conflict");
    assert!(error(&late).contains("revision 2, not 1"), "{late:?}");
    assert_eq!(project.kept(), before);
    project.put(json!({"mode":"ralph","c":1,"expected_revision":null}));
    assert!(project.document("ralph").get("expected_revision").is_none());
}

#[test]
fn state_3_clear_removes_one_document_or_one_mode_everywhere() {
    let project = project();
    for session in [None, Some("a"), Some("b")] {
        project.put(json!({"mode":"ultrawork","active":true,"session_id":session}));
        project.put(json!({"mode":"ecomode","active":true,"session_id":session}));
        project.omx(&["cancel", "--every-session", "--json"]).ok();
    }
    let path = |session: &str| text(project.session(session, "ultrawork-state.json"));
    let clear = |input: Value| project.state_op("clear", &input).ok();
    assert_eq!(
        clear(json!({"mode":"ultrawork","session_id":"a"})),
        json!({"cleared":true,"mode":"ultrawork","removed":1,"paths":[path("a")]})
    );
    assert_eq!(
        clear(json!({"mode":"ultrawork","session_id":"a"})),
        json!({"cleared":true,"mode":"ultrawork","removed":0,"paths":[]})
    );
    let compatibility = text(project.state("ultrawork-state.json"));
    assert_eq!(
        clear(json!({"mode":"ultrawork","all_sessions":true})),
        json!({"cleared":true,"mode":"ultrawork","removed":2,"paths":[compatibility, path("b")]})
    );
    for session in ["a", "b"] {
        assert!(project.session(session, "ecomode-state.json").exists(), "another mode stays");
    }
    let both = json!({"mode":"ultrawork","session_id":"a","all_sessions":true});
    assert_eq!(project.state_op("clear", &both).refused(), "invalid_input");
}

#[test]
fn state_3_clear_without_a_mode_removes_every_mode_of_the_scope() {
    let project = project();
    let put = |mode: &str, session: Option<&str>| {
        let mut input = json!({"mode":mode,"active":true});
        if let Some(session) = session {
            input["session_id"] = session.into();
        }
        project.put(input);
    };
    for mode in ["ralph", "ultrawork"] {
        put(mode, Some("a"));
        put(mode, Some("b"));
    }
    put("ecomode", None);
    let clear = |input: Value| project.state_op("clear", &input).ok();
    // Outside sessions: nobody's session, but those that are active are named.
    let outside = clear(json!({}));
    assert_eq!((&outside["mode"], &outside["removed"]), (&Value::Null, &json!(1)), "{outside}");
    assert_eq!(outside["active_sessions"], json!(["a", "b"]));
    let one = project.omx(&["state", "clear", "--session-id", "a", "--json"]).ok();
    assert_eq!((&one["removed"], &one["active_sessions"]), (&json!(2), &Value::Null), "{one}");
    let left = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(left["entries"].as_array().unwrap().len(), 2, "{left}");
    assert_eq!(clear(json!({"all_sessions":true}))["removed"], 2);
    // What was live cannot come back by a late write.
    let late = project.state_op("write", &json!({"mode":"ralph","active":true,"session_id":"b"}));
    assert_eq!(late.refused(), "recently_cancelled");
}

#[test]
fn state_3_list_active_lists_one_session_or_every_scope() {
    let project = project();
    let empty = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(empty, json!({"active_modes":[],"entries":[]}));
    project.put(json!({"mode":"ultrawork","active":true,"iteration":3}));
    project.put(json!({"mode":"ultrawork","active":true,"session_id":"a"}));
    project.put(json!({"mode":"ralph","active":true,"session_id":"b"}));
    project.put(json!({"mode":"ecomode","active":false,"session_id":"b"}));
    let entry = |session: Option<&str>, mode: &str, phase: &str, iteration: u64| {
        let file = format!("{mode}-state.json");
        let path = session.map_or(project.state(&file), |id| project.session(id, &file));
        let document: Value = serde_json::from_str(&project.read(&path)).unwrap();
        json!({"mode":mode,"session_id":session,"phase":phase,"iteration":iteration,
            "updated_at":document["updated_at"],"stale":false,"path":text(path)})
    };
    let first = project.session_document("a", "ultrawork")["iteration"].as_u64().unwrap();
    let all = [
        entry(None, "ultrawork", "planning", 3),
        entry(Some("a"), "ultrawork", "planning", first),
        entry(Some("b"), "ralph", "starting", 0),
    ];
    // The environment narrows nothing here.
    let listed = project.omx_env(&["state", "list-active", "--json"], &[("OMX_SESSION_ID", "a")]);
    let expected = json!({"active_modes":["ralph","ultrawork"],"entries":all});
    assert_eq!(listed.ok(), expected);
    let one = project.omx(&["state", "list-active", "--session-id", "b", "--json"]).ok();
    assert_eq!(one, json!({"active_modes":["ralph"],"entries":[all[2]]}));
}

#[test]
fn state_3_get_status_returns_every_document_of_one_session_or_of_all() {
    let project = project();
    let empty = project.omx(&["state", "get-status", "--json"]).ok();
    assert_eq!(empty, json!({"statuses":{},"sessions":{}}));
    project.put(json!({"mode":"ultrawork","active":true}));
    project.put(json!({"mode":"ralph","active":true,"session_id":"a"}));
    project.put(json!({"mode":"ecomode","active":false,"session_id":"a"}));
    let status = |session: Option<&str>, mode: &str, active: bool, phase: &str| {
        let file = format!("{mode}-state.json");
        let path = session.map_or(project.state(&file), |id| project.session(id, &file));
        let data: Value = serde_json::from_str(&project.read(&path)).unwrap();
        json!({"active":active,"phase":phase,"path":text(path),"stale":false,"data":data})
    };
    let outside = json!({"ultrawork":status(None, "ultrawork", true, "planning")});
    let ralph = status(Some("a"), "ralph", true, "starting");
    let inside = json!({"ralph":ralph,"ecomode":status(Some("a"), "ecomode", false, "cancelled")});
    let all = project.omx_env(&["state", "get-status", "--json"], &[("OMX_SESSION_ID", "a")]);
    assert_eq!(all.ok(), json!({"statuses":outside,"sessions":{"a":inside}}));
    let one = project.omx(&["state", "get-status", "--session-id", "a", "--json"]).ok();
    assert_eq!(one, json!({"statuses":inside}));
    let mode = project.omx(&["state", "get-status", "--mode", "ralph", "--json"]).ok();
    assert_eq!(mode, json!({"statuses":{},"sessions":{"a":{"ralph":ralph}}}));
}

#[test]
fn state_3_the_request_comes_from_flags_a_file_or_standard_input() {
    let project = project();
    let start = r#"{"mode":"ralph","active":true}"#;
    let path = project.write("request.json", format!("\u{feff}{start}\r\n"));
    let read = ["state", "read", "--mode", "ralph", "--json"];
    project.omx(&["state", "write", "--input-file", path.to_str().unwrap(), "--json"]).ok();
    project
        .omx_stdin(&["state", "write", "--input", "-", "--json"], b"{\"mode\":\"ralph\",\"a\":1}")
        .ok();
    project.omx(&["state", "write", "--mode", "ralph", "--input", r#"{"b":2}"#, "--json"]).ok();
    let document = project.omx(&read).ok();
    assert_eq!(json!([document["a"], document["b"], document["revision"]]), json!([1, 2, 3]));
    let differ = ["state", "write", "--mode", "team", "--input", start, "--json"];
    assert_eq!(project.omx(&differ).refused(), "invalid_input");
    let missing = ["state", "write", "--input-file", "missing.json", "--json"];
    assert_eq!(project.omx(&missing).refused(), "io");
}

#[test]
fn state_3_json_is_one_compact_line_of_the_same_object() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"foreign":{"a":[1,{}],"b":"x y"}}));
    for operation in [&["read", "--mode", "ralph"][..], &["list-active"], &["get-status"]] {
        let run = |more: &[&str]| project.omx(&[&["state"], operation, more].concat());
        let (compact, pretty) = (run(&["--json"]), run(&[]));
        assert!(compact.stdout.ends_with("}\n") && compact.stdout.lines().count() == 1);
        assert!(!compact.stdout.contains("\": "), "{}", compact.stdout);
        assert!(pretty.stdout.lines().count() > 3 && pretty.stdout.starts_with("{\n  \""));
        assert_eq!(compact.ok(), pretty.ok());
    }
}

#[test]
fn state_3_the_mcp_tools_answer_with_the_same_objects() {
    let project = project();
    let mut server = project.mcp();
    for (tool, operation, input) in [
        ("state_write", "write", json!({"mode":"ralph","active":true,"session_id":"s"})),
        ("state_read", "read", json!({"mode":"ralph","session_id":"s"})),
        ("state_list_active", "list-active", json!({})),
        ("state_get_status", "get-status", json!({"mode":"ralph"})),
        ("state_clear", "clear", json!({"mode":"team"})),
        ("state_read", "read", json!({"mode":"banana"})),
        ("state_clear", "clear", json!({"mode":"ralph","session_id":"../x"})),
    ] {
        let (failed, mut by_tool) = server.call(tool, &input);
        let by_command = project.state_op(operation, &input);
        assert_eq!(failed, by_command.code != Some(0), "{tool}");
        if operation == "write" {
            by_tool["revision"] = json!(2);
        }
        assert_eq!(by_tool, by_command.json(), "{tool}");
    }
}

#[test]
fn state_3_1_the_session_is_the_named_one_then_the_callers_then_none() {
    let both = [("OMX_SESSION_ID", "own"), ("CLAUDE_CODE_SESSION_ID", "hosts")];
    for (named, variables, expected) in [
        (Some("named"), &both[..], Some("named")),
        (None, &both, Some("own")),
        (None, &[("OMX_SESSION_ID", ""), both[1]], Some("hosts")),
        (None, &both[1..], Some("hosts")),
        (None, &[("OMX_SESSION_ID", "")], None),
        (None, &[("OMX_SESSION_ID", ""), ("CLAUDE_CODE_SESSION_ID", "")], None),
        (None, &[], None),
    ] {
        let project = project();
        let input = json!({"mode":"ralph","active":true,"session_id":named}).to_string();
        let args = ["state", "write", "--input", &input, "--json"];
        let answer = project.omx_env(&args, variables).ok();
        let file = "ralph-state.json";
        let path = expected.map_or(project.state(file), |id| project.session(id, file));
        assert_eq!(answer["path"], text(&path), "{named:?} {variables:?}");
        let document: Value = serde_json::from_str(&project.read(path)).unwrap();
        assert_eq!(document["session_id"].as_str(), expected);
        let mut read = vec!["state", "read", "--mode", "ralph", "--json"];
        read.extend(named.iter().flat_map(|id| ["--session-id", id]));
        assert_eq!(project.omx_env(&read, variables).ok(), document);
    }
}

#[test]
fn state_3_1_working_directory_is_an_alias_of_root() {
    let project = project();
    let other = project.folder().join("other");
    fs::create_dir(&other).unwrap();
    let place = other.to_str().unwrap();
    project.put(json!({"mode":"ralph","active":true,"workingDirectory":place}));
    let path = other.join(".omx/state/ralph-state.json");
    assert!(path.is_file() && !project.root().join(".omx").exists());
    assert!(!fs::read_to_string(path).unwrap().contains("workingDirectory"), "not a field");
    let input = json!({"mode":"ralph","workingDirectory":place});
    assert_eq!(project.state_op("read", &input).ok()["active"], true);
    let input = json!({"workingDirectory":place});
    assert_eq!(project.state_op("list-active", &input).ok()["active_modes"], json!(["ralph"]));
    let status = project.state_op("get-status", &input).ok();
    assert_eq!(status["statuses"]["ralph"]["active"], true);
    let clear = json!({"mode":"ralph","workingDirectory":place});
    assert_eq!(project.state_op("clear", &clear).ok()["removed"], 1);
    for bad in [json!("missing"), json!(3), json!(["x"])] {
        let input = json!({"mode":"ralph","workingDirectory":bad});
        assert_eq!(project.state_op("read", &input).refused(), "invalid_input", "{bad}");
    }
}

#[test]
fn state_3_2a_the_first_write_must_say_active_and_a_start_fills_the_rest() {
    let limits: [(&str, &str, Option<u64>); 11] = [
        ("autopilot", "ralplan", Some(10)),
        ("ralph", "starting", Some(50)),
        ("ralplan", "draft", Some(5)),
        ("code-review", "reviewing", Some(1)),
        ("ultrawork", "planning", Some(50)),
        ("ecomode", "planning", Some(50)),
        ("ultraqa", "qa", Some(5)),
        ("pipeline", "stage:1", None),
        ("team", "team-plan", None),
        ("swarm", "executing", None),
        ("ultrapilot", "planning", None),
    ];
    for (mode, phase, limit) in limits {
        let project = project();
        let first = project.state_op("write", &json!({"mode":mode,"task_description":"t"}));
        assert_eq!(first.refused(), "invalid_input", "{mode}");
        assert!(error(&first).contains("active"), "{first:?}");
        assert!(!project.state(&format!("{mode}-state.json")).exists());
        project.put(json!({"mode":mode,"active":true,"unknown":[1],"state":{"nested":{"b":1}}}));
        let document = project.document(mode);
        assert_eq!(document["current_phase"], phase, "{mode}");
        assert_eq!(document.get("max_iterations").and_then(Value::as_u64), limit, "{mode}");
        assert!(document["iteration"].is_u64() && document["started_at"].is_string(), "{mode}");
        assert_eq!(document["run_outcome"], "continue", "{mode}");
        assert_eq!(document["unknown"], json!([1]), "stored like those in state");
        assert_eq!(document["nested"], json!({"b":1}));
        assert!(document.get("state").is_none());
    }
}

#[test]
fn state_3_2b_a_mode_active_in_a_session_needs_the_session_to_be_written() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"a"}));
    project.put(json!({"mode":"ralph","active":true,"session_id":"b"}));
    let before = project.kept();
    let outcome = project.state_op("write", &json!({"mode":"ralph","active":true}));
    assert_eq!(outcome.refused(), "session_required");
    assert!(error(&outcome).contains("a, b"), "{outcome:?}");
    assert_eq!(project.kept(), before);
    project.put(json!({"mode":"team","active":true}));
    project.omx(&["cancel", "--every-session"]);
    project.put(json!({"mode":"ralph","active":true}));
}

#[test]
fn state_3_2b_an_invalid_session_in_the_environment_stops_only_operations_that_need_it() {
    let project = project();
    let bad = [("OMX_SESSION_ID", "../x")];
    let start = r#"{"mode":"ralph","active":true}"#;
    let outcome = project.omx_env(&["state", "write", "--input", start, "--json"], &bad);
    assert_eq!(outcome.refused(), "invalid_session_id");
    assert!(error(&outcome).contains("OMX_SESSION_ID"), "{outcome:?}");
    for operation in ["list-active", "get-status"] {
        project.omx_env(&["state", operation, "--json"], &bad).ok();
    }
    let named = ["state", "write", "--input", start, "--session-id", "good", "--json"];
    project.omx_env(&named, &bad).ok();
}

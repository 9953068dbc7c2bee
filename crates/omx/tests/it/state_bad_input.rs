//! state.md 3.2 to 3.5: bad input of every kind, as tables. Each is refused with the
//! right code and a message, and no stored byte changes.

use omx_testkit::{CommandOutcome, MODES, TestProject};
use serde_json::{Value, json};

use crate::project;

/// A project with a document of every mode, each in its own session.
fn full() -> TestProject {
    let project = project();
    for mode in MODES {
        project.put(json!({"mode":mode,"active":true,"session_id":mode}));
    }
    project
}

/// Refuses through the server, which is one process for a whole table; the
/// command line runs the same code and takes samples of it below.
struct RefusingServer {
    project: TestProject,
    server: omx_testkit::McpClient,
}

impl RefusingServer {
    fn new() -> Self {
        let project = full();
        let server = project.mcp();
        Self { project, server }
    }

    #[track_caller]
    fn refuses(&mut self, mode: &str, field: &str, value: &Value, code: &str) {
        for nested in [false, true] {
            let mut input = json!({"mode":mode,"session_id":mode});
            if nested {
                input["state"] = json!({field:value});
            } else {
                input[field] = value.clone();
            }
            let (failed, answer) = self.server.call("state_write", &input);
            assert!(failed, "{mode}.{field} = {value} was taken: {answer}");
            assert_eq!(answer["code"], code, "{mode}.{field} = {value}: {answer}");
            let error = answer["error"].as_str().unwrap();
            assert!(error.contains(field.split('.').next().unwrap()), "{error}");
        }
    }
}

/// Values of every other type, for a field of this one.
fn not(kind: &str) -> Vec<Value> {
    let all = [
        ("flag", json!(true)),
        ("text", json!("text")),
        ("whole", json!(3)),
        ("number", json!(1.5)),
        ("number", json!(-1)),
        ("number", json!(1e300)),
        ("list", json!(["x"])),
        ("object", json!({"x":1})),
    ];
    all.into_iter().filter(|(other, _)| *other != kind).map(|(_, value)| value).collect()
}

#[test]
fn state_3_3_every_common_field_is_checked_in_every_mode() {
    let mut server = RefusingServer::new();
    let before = server.project.kept();
    let fields = [
        ("active", "flag"),
        ("current_phase", "text"),
        ("iteration", "whole"),
        ("max_iterations", "whole"),
        ("run_outcome", "text"),
        ("lifecycle_outcome", "text"),
        ("task_description", "text"),
        ("started_at", "time"),
        ("updated_at", "time"),
        ("completed_at", "time"),
        ("error", "text"),
        ("waiting", "waiting"),
    ];
    for mode in MODES {
        for (field, kind) in fields {
            for value in not(kind) {
                server.refuses(mode, field, &value, "invalid_input");
            }
        }
        for counter in ["iteration", "max_iterations"] {
            for text in ["-1", "1.0", "1e3", "18446744073709551616", "1e400", "\"1\"", "null"] {
                let input =
                    format!(r#"{{"mode":"{mode}","session_id":"{mode}","{counter}":{text}}}"#);
                let answer = server.server.call_raw("state_write", &input);
                assert!(
                    answer.contains(r#""code":"invalid_input""#),
                    "{mode} {counter} {text}: {answer}"
                );
            }
        }
        server.refuses(mode, "max_iterations", &json!(0), "invalid_input");
        server.refuses(mode, "current_phase", &json!(null), "invalid_input");
        server.refuses(mode, "active", &json!(null), "invalid_input");
        server.refuses(mode, "run_outcome", &json!("won"), "invalid_outcome");
        server.refuses(mode, "lifecycle_outcome", &json!("won"), "invalid_outcome");
    }
    assert_eq!(server.project.kept(), before);
}

#[test]
fn state_3_3_unknown_phases_are_refused_in_every_mode() {
    let mut server = RefusingServer::new();
    let before = server.project.kept();
    for mode in MODES {
        for phase in
            ["", "banana", "Complete", "executing ", "../x", "team_plan", "stage:", "continue"]
        {
            let input = json!({"mode":mode,"session_id":mode,"current_phase":phase});
            let (failed, answer) = server.server.call("state_write", &input);
            assert!(failed && answer["code"] == "invalid_phase", "{mode} {phase:?}: {answer}");
            assert!(answer["error"].as_str().unwrap().contains("complete, failed, cancelled"));
        }
    }
    assert_eq!(server.project.kept(), before);
}

#[test]
fn state_3_3_invalid_times_are_refused() {
    let mut server = RefusingServer::new();
    let before = server.project.kept();
    for time in [
        "",
        "now",
        "yesterday",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "1769860800",
        "2026-01-31T12:00:00+99:00",
        "2026-01-31T12:00:00Z ",
        "20260131T120000Z",
        "2026-01-31T12:00:00.Z",
    ] {
        for field in ["started_at", "updated_at", "completed_at"] {
            server.refuses("ralph", field, &json!(time), "invalid_input");
        }
    }
    assert_eq!(server.project.kept(), before);
    for time in
        ["2026-01-31t12:00:00.123456789z", "2026-01-31T12:00:00Z", "2024-02-29T23:59:60+05:30"]
    {
        server.project.put(json!({"mode":"ralph","session_id":"ralph","started_at":time}));
        assert_eq!(server.project.session_document("ralph", "ralph")["started_at"], time);
    }
}

#[test]
fn state_3_3_every_modes_own_fields_are_checked() {
    let own = [
        ("autopilot", "phase_cycle", "list"),
        ("autopilot", "review_cycle", "whole"),
        ("autopilot", "handoff_artifacts", "object"),
        ("autopilot", "review_verdict", "object"),
        ("autopilot", "return_to_ralplan_reason", "text"),
        ("ralph", "completion_audit", "object"),
        ("ralph", "completion_audit_path", "text"),
        ("ralph", "linked_ultrawork", "flag"),
        ("ralph", "linked_ecomode", "flag"),
        ("ralph", "linked_team", "flag"),
        ("ralph", "team_name", "text"),
        ("ralph", "linked_team_terminal_phase", "text"),
        ("ralph", "linked_team_terminal_at", "time"),
        ("ralplan", "plan_path", "text"),
        ("ralplan", "test_spec_path", "text"),
        ("ralplan", "consensus", "object"),
        ("ralplan", "linked_to", "text"),
        ("code-review", "review_verdict", "object"),
        ("ultrawork", "last_check", "object"),
        ("ultrawork", "linked_to_ralph", "flag"),
        ("ecomode", "completion_audit", "object"),
        ("ecomode", "linked_to_ralph", "flag"),
        ("ultraqa", "last_check", "object"),
        ("pipeline", "stages", "list"),
        ("pipeline", "stage_results", "object"),
        ("team", "fix_loop_count", "whole"),
        ("team", "max_fix_loops", "whole"),
        ("team", "linked_ralph", "flag"),
        ("team", "verification", "object"),
        ("team", "team_name", "text"),
        ("swarm", "tasks", "object"),
        ("ultrapilot", "verification", "object"),
    ];
    let mut server = RefusingServer::new();
    let before = server.project.kept();
    for (mode, field, kind) in own {
        for value in not(kind) {
            server.refuses(mode, field, &value, "invalid_input");
        }
    }
    assert_eq!(server.project.kept(), before);
}

#[test]
fn state_3_3_control_fields_are_checked() {
    let project = full();
    let before = project.kept();
    for (field, values) in [
        ("mode", json!([1, null, ["ralph"], {}, true])),
        ("state", json!([1, "x", null, [], true])),
        ("start", json!([1, "true", [], {}])),
        ("resume", json!([1, "true", [], {}])),
        ("expected_revision", json!([-1, 1.5, "1", true, [], {}])),
        ("workingDirectory", json!([1, true, [], {}])),
        ("revision", json!([1, null])),
    ] {
        for value in values.as_array().unwrap() {
            let mut input = json!({"mode":"ralph","session_id":"ralph"});
            input[field] = value.clone();
            let outcome = project.state_op("write", &input);
            assert_eq!(outcome.refused(), "invalid_input", "{field} = {value}");
            assert!(outcome.json()["error"].as_str().unwrap().contains(field), "{outcome:?}");
        }
    }
    let clear = json!({"mode":"ralph","all_sessions":"yes"});
    assert_eq!(project.state_op("clear", &clear).refused(), "invalid_input");
    for nested in [json!({"mode":"team"}), json!({"session_id":"team"})] {
        let input = json!({"mode":"ralph","session_id":"ralph","state":nested});
        assert_eq!(project.state_op("write", &input).refused(), "invalid_input");
    }
    assert_eq!(project.kept(), before);
}

#[test]
fn state_3_4_invalid_session_ids_are_refused_before_a_path_is_built() {
    let project = full();
    let before = project.kept();
    let long = "x".repeat(10_000);
    let longer = "x".repeat(129);
    let bad = [
        "../x", "..", ".", "", "a/b", "/etc", "a\\b", "a\0b", "\0", "-a", "_a", "a b", " a", "a\n",
        "ä", "日本", "a.b", "a;b", "$HOME", "~", "a%2fb", &long, &longer,
    ];
    for id in bad {
        for (operation, more) in [
            ("read", json!({"mode":"ralph"})),
            ("write", json!({"mode":"ralph","active":true})),
            ("clear", json!({"mode":"ralph"})),
            ("list-active", json!({})),
            ("get-status", json!({})),
        ] {
            let mut input = more;
            input["session_id"] = json!(id);
            let outcome = project.state_op(operation, &input);
            assert_eq!(outcome.refused(), "invalid_session_id", "{operation} {id:?}");
            assert!(outcome.stdout.len() < 300, "the id is not repeated at length");
        }
        if !id.contains('\0') {
            let flags: Vec<CommandOutcome> = [
                project.omx(&["state", "read", "--mode", "ralph", "--session-id", id, "--json"]),
                project.omx(&["cancel", "--session-id", id, "--json"]),
                project.omx(&["status", "--session-id", id, "--json"]),
            ]
            .into();
            for outcome in flags {
                assert_eq!(outcome.refused(), "invalid_session_id", "{id:?}");
            }
        }
    }
    for value in [json!(1), json!(true), json!([]), json!({})] {
        let input = json!({"mode":"ralph","session_id":value});
        assert_eq!(project.state_op("read", &input).refused(), "invalid_session_id", "{value}");
    }
    assert_eq!(project.kept(), before);
    for good in ["0", "Z-_9", &"x".repeat(128)] {
        project.put(json!({"mode":"ralph","active":true,"session_id":good}));
    }
}

#[test]
fn state_3_2_anything_but_a_json_object_is_refused() {
    let project = full();
    let before = project.kept();
    for text in [
        "",
        " ",
        "{",
        "}",
        "nonsense",
        "{\"mode\":\"ralph\"",
        "{\"mode\":\"ralph\"}x",
        "{'mode':'ralph'}",
        "{\"mode\":\"ralph\",}",
        "{mode:\"ralph\"}",
        "{\"mode\":\"ralph\",\"x\":01}",
        "{\"x\":NaN}",
        "{\"x\":\"\\x\"}",
        "{\"x\":\"\t\"}",
        "// c\n{}",
        "[]",
        "[{\"mode\":\"ralph\"}]",
        "1",
        "null",
        "true",
        "\"ralph\"",
        "{\"mode\":\"ralph\"}{\"mode\":\"ralph\"}",
        "\u{feff}",
    ] {
        for operation in ["read", "write", "clear", "list-active", "get-status"] {
            let by_argument = project.omx(&["state", operation, "--input", text, "--json"]);
            assert_eq!(by_argument.refused(), "invalid_input", "{operation} {text:?}");
            let by_pipe =
                project.omx_stdin(&["state", operation, "--input", "-", "--json"], text.as_bytes());
            assert_eq!(by_pipe.stdout, by_argument.stdout, "{operation} {text:?}");
        }
    }
    for bytes in [
        &b"\xff\xfe{}"[..],
        b"{\"mode\":\"ralph\",\"x\":\"\xc3\"}",
        b"\0",
        b"{\"mode\":\"ralph\"}\0",
    ] {
        let outcome = project.omx_stdin(&["state", "write", "--input", "-", "--json"], bytes);
        assert_eq!(outcome.refused(), "invalid_input", "{bytes:?}");
    }
    assert_eq!(project.kept(), before);
}

#[test]
fn state_3_2_names_given_twice_with_different_values_are_refused() {
    let project = full();
    let before = project.kept();
    for text in [
        r#"{"mode":"ralph","session_id":"ralph","mode":"team"}"#,
        r#"{"mode":"ralph","session_id":"ralph","session_id":"team"}"#,
        r#"{"mode":"ralph","session_id":"ralph","note":1,"note":2}"#,
        r#"{"mode":"ralph","session_id":"ralph","note":1,"state":{"note":2}}"#,
        r#"{"mode":"ralph","session_id":"ralph","state":{"note":1,"note":2}}"#,
        r#"{"mode":"ralph","session_id":"ralph","iteration":1,"iteration":1.0}"#,
    ] {
        let outcome = project.omx(&["state", "write", "--input", text, "--json"]);
        assert_eq!(outcome.refused(), "invalid_input", "{text}");
        assert!(outcome.json()["error"].as_str().unwrap().contains("twice"), "{outcome:?}");
    }
    assert_eq!(project.kept(), before);
}

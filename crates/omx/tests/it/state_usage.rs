//! state.md 3.2: every refusal code, helpful refusals, and malformed command lines.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use omx_testkit::{CommandOutcome, MODES, TestProject};
use serde_json::{Value, json};

use crate::project;

fn error(outcome: &CommandOutcome) -> String {
    outcome.json()["error"].as_str().unwrap().to_owned()
}

#[test]
fn state_3_2_refusals_say_what_to_do() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    for (input, code, words) in [
        (json!({"mode":"banana"}), "unknown_mode", &[&["banana"], &MODES[..]].concat()[..]),
        (json!({}), "invalid_input", &["mode is missing", "autopilot", "ultrapilot"]),
        (
            json!({"mode":"ralph","current_phase":"qa"}),
            "invalid_phase",
            &["starting, executing, verifying, fixing, complete, failed, cancelled"],
        ),
        (
            json!({"mode":"ralph","run_outcome":"won"}),
            "invalid_outcome",
            &["won", "continue", "blocked_on_user"],
        ),
        (
            json!({"mode":"ralph","current_phase":"verifying"}),
            "illegal_transition",
            &["executing", "failed", "cancelled"],
        ),
        (
            json!({"mode":"ralph","current_phase":"complete"}),
            "illegal_transition",
            &["executing", "verifying"],
        ),
        (
            json!({"mode":"team","active":true}),
            "mode_conflict",
            &["ralph", "omx cancel --mode ralph"],
        ),
    ] {
        let outcome = project.state_op("write", &input);
        assert_eq!(outcome.refused(), code, "{input}");
        let error = outcome.json()["error"].as_str().unwrap().to_owned();
        for word in words {
            assert!(error.contains(word), "{word} in {error}");
        }
    }
    for phase in ["executing", "verifying"] {
        project.put(json!({"mode":"ralph","current_phase":phase}));
    }
    let outcome = project.state_op("write", &json!({"mode":"ralph","current_phase":"complete"}));
    assert_eq!(outcome.refused(), "illegal_transition");
    let error = outcome.json()["error"].as_str().unwrap().to_owned();
    assert!(error.contains("missing") && error.contains("completion_audit"), "{error}");
}

#[test]
fn state_3_2_a_malformed_command_line_is_exit_2_with_usage_on_stderr() {
    let project = project();
    for args in [
        &["state"][..],
        &["state", "frobnicate"],
        &["state", "read", "--nonsense"],
        &["state", "read", "--mode"],
        &["state", "read", "ralph"],
        &["state", "write", "--input", "{}", "--input-file", "x"],
        &["state", "read", "--mode", "ralph", "--mode", "team"],
        &["state", "read", "--dialect", "latin"],
        &["frobnicate"],
        &["cancel", "--force=maybe"],
        &["config", "get"],
    ] {
        for json in [&[][..], &["--json"]] {
            let outcome = project.omx(&[args, json].concat());
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
            assert!(
                outcome.stderr.contains("Usage:") || outcome.stderr.contains("--help"),
                "{outcome:?}"
            );
        }
    }
    assert_eq!(project.omx(&["state", "write", "--input"]).code, Some(2));
    let mut command = project.omx_command(&["state", "read", "--mode"]);
    command.arg(OsStr::from_bytes(b"\xff"));
    assert_eq!(command.output().unwrap().status.code(), Some(2));
}

#[test]
fn state_3_2_unused_fields_are_refused_where_nothing_is_stored() {
    let project = project();
    for (operation, input) in [
        ("read", json!({"mode":"ralph","sessionid":"x"})),
        ("clear", json!({"mode":"ralph","all_session":true})),
        ("list-active", json!({"mode":"ralph"})),
        ("get-status", json!({"all":true})),
    ] {
        let outcome = project.state_op(operation, &input);
        assert_eq!(outcome.refused(), "invalid_input", "{operation}");
        assert!(outcome.json()["error"].as_str().unwrap().contains("session_id"), "{outcome:?}");
    }
}

#[test]
fn state_3_2_foreign_text_reaches_no_terminal_unescaped() {
    let project = project();
    for args in [
        &["state", "read", "--mode", "\u{1b}[31mred\r\n"][..],
        &["state", "read", "--mode", "ralph", "--session-id", "\u{1b}]0;x\u{7}"],
        &["state", "read", "--input", "{\"mode\":\"ralph\",\"\\u001b[2J\":1}"],
        &[
            "state",
            "write",
            "--mode",
            "ralph",
            "--input",
            "{\"active\":true,\"run_outcome\":\"\\u001b[2J\\r\"}",
        ],
        &[
            "state",
            "write",
            "--mode",
            "ralph",
            "--input",
            "{\"active\":true,\"current_phase\":\"\\u001b[2J\\n\"}",
        ],
        &["state", "write", "--mode", "ralph", "--input", "{\"active\":\"\\u001b[2J\\n\"}"],
    ] {
        let outcome = project.omx(args);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let line = outcome.stderr.trim_end_matches('\n');
        assert!(!line.contains(char::is_control), "{outcome:?}");
    }
}

/// Every refused call, with its code.
fn refusals(project: &TestProject) -> Vec<(&'static str, Vec<String>)> {
    let write =
        |input: Value| ["state", "write", "--input", &input.to_string()].map(String::from).to_vec();
    let words = |line: &str| line.split(' ').map(String::from).collect::<Vec<_>>();
    project.put(json!({"mode":"ralph","active":true,"session_id":"a","linked_ultrawork":true}));
    project.put(json!({"mode":"ultrawork","active":true,"session_id":"a","linked_to_ralph":true}));
    project.put(json!({"mode":"team","active":true,"session_id":"b"}));
    project.put(json!({"mode":"swarm","active":false,"session_id":"c"}));
    project.write(".omx/state/ecomode-state.json", "torn");
    symlink("/dev/null", project.state("pipeline-state.json")).unwrap();
    vec![
        ("invalid_input", write(json!({"mode":"ralph","session_id":"a","iteration":-1}))),
        ("unknown_mode", words("state read --mode banana")),
        ("invalid_session_id", words("state read --mode ralph --session-id ../x")),
        ("invalid_phase", write(json!({"mode":"ralph","session_id":"a","current_phase":"x"}))),
        ("invalid_outcome", write(json!({"mode":"ralph","session_id":"a","run_outcome":"x"}))),
        (
            "illegal_transition",
            write(json!({"mode":"ralph","session_id":"a","current_phase":"complete"})),
        ),
        (
            "contradiction",
            write(json!({"mode":"ralph","session_id":"a","active":true,"run_outcome":"failed"})),
        ),
        (
            "revision_conflict",
            write(json!({"mode":"ralph","session_id":"a","expected_revision":77})),
        ),
        ("recently_cancelled", write(json!({"mode":"swarm","session_id":"c","active":true}))),
        ("mode_conflict", write(json!({"mode":"team","session_id":"a","active":true}))),
        ("linked_mode", words("cancel --mode ultrawork --session-id a")),
        ("session_required", write(json!({"mode":"ralph","active":true}))),
        ("ambiguous_session", words("cancel")),
        ("corrupt_state", words("state read --mode ecomode")),
        ("unsafe_path", words("state read --mode pipeline")),
        ("too_large", write(json!("given on standard input"))),
        ("io", words("state write --input-file missing.json")),
        ("busy", write(json!({"mode":"ralph","session_id":"a","note":1}))),
    ]
}

#[test]
fn state_3_2_every_code_is_json_on_stdout_and_one_line_for_people() {
    let project = project();
    for (code, args) in refusals(&project) {
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        let large = format!(r#"{{"mode":"ralph","session_id":"a","x":"{}"}}"#, "x".repeat(1 << 20));
        let before = project.kept();
        let lock = (code == "busy").then(|| {
            let file = fs::File::options().write(true).open(project.state(".lock")).unwrap();
            file.lock().unwrap();
            file
        });
        let run = |args: &[&str]| {
            if code == "too_large" {
                let stdin = [&args[..2], &["--input", "-"], &args[4..]].concat();
                project.omx_stdin(&stdin, large.as_bytes())
            } else {
                project.omx(args)
            }
        };
        if code != "busy" {
            let plain = run(&args);
            assert_eq!((plain.code, plain.stdout.as_str()), (Some(1), ""), "{code}: {plain:?}");
            assert_eq!(plain.stderr.matches('\n').count(), 1, "{code}: {plain:?}");
            assert!(plain.stderr.starts_with("error: "), "{code}: {plain:?}");
            assert!(plain.stderr.ends_with(&format!(" [{code}]\n")), "{code}: {plain:?}");
        }
        args.push("--json");
        let outcome = run(&args);
        assert_eq!(outcome.refused(), code, "{outcome:?}");
        assert_eq!((outcome.stderr.as_str(), outcome.stdout.lines().count()), ("", 1), "{code}");
        assert!(!error(&outcome).contains('\n'), "{outcome:?}");
        assert_eq!(project.kept(), before, "{code}");
        drop(lock);
    }
}

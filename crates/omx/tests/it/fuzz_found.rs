//! What fuzzing found (quality.md R16), kept as plain cases.

use std::time::{Duration, Instant};

use omx_testkit::TestProject;
use serde_json::json;

use crate::project;

/// A value nested so deeply that following it would overflow the stack.
fn deep() -> String {
    let levels = 200_000;
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn state_2_1_the_largest_revision_does_not_overflow() {
    let project = project();
    let document = r#"{"active":true,"revision":18446744073709551615}"#;
    let path = ".omx/state/ralph-state.json";
    project.write(path, document);
    let answer = project.put(json!({"mode":"ralph","iteration":1}));
    assert_eq!(answer["revision"], u64::MAX);
    project.write(path, document);
    project.omx(&["cancel", "--json"]).ok();
    assert_eq!(project.document("ralph")["active"], false);
}

#[test]
fn modes_2_1_the_largest_iteration_does_not_overflow() {
    let project = project();
    project.write(
        ".omx/state/ralph-state.json",
        r#"{"active":true,"current_phase":"fixing","iteration":18446744073709551615,"max_iterations":18446744073709551615}"#,
    );
    project.put(json!({"mode":"ralph","current_phase":"executing"}));
    assert_eq!(project.document("ralph")["iteration"], u64::MAX);
}

#[test]
fn state_4_4_endless_nesting_in_a_document_blocks_nothing() {
    let project = project();
    let document = format!(r#"{{"active":true,"completion_audit":{},"x":1}}"#, deep());
    project.write(".omx/state/ralph-state.json", &document);
    let start = Instant::now();
    let read = project.omx(&["state", "read", "--mode", "ralph"]);
    assert_eq!(read.code, Some(0), "{}", read.stderr);
    assert!(read.stdout.len() < 4 * document.len(), "{} bytes", read.stdout.len());
    let cancelled = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(cancelled["cancelled"][0]["mode"], "ralph");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    let stored = project.read(project.state("ralph-state.json"));
    assert!(stored.contains(r#""active": false"#) && stored.contains(&deep()));
}

#[test]
fn quality_r16_endless_nesting_does_not_end_the_mcp_server() {
    let project = project();
    let mut client = project.mcp();
    let deep = deep();
    client.send_line(&format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"ping"}}"#));
    assert!(client.receive_line().contains("-32600"));
    client.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"x":{deep}}}}}"#
    ));
    assert!(client.receive_line().contains("protocolVersion"));
    client.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"state_write","arguments":{{"mode":"ralph","active":true,"x":{deep}}}}}}}"#
    ));
    assert!(client.receive_line().contains("too_large"));
    assert_eq!(client.close(), Some(0));
}

#[test]
fn hosts_mcp_a_wrong_type_is_answered_under_the_id_of_its_request() {
    let project = project();
    let mut client = project.mcp();
    client.send_line(r#"{"jsonrpc":"2.0","id":7,"method":5}"#);
    assert!(client.receive_line().starts_with(r#"{"jsonrpc":"2.0","id":7,"error""#));
    client.send_line(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
    assert!(client.receive_line().contains("-32600"));
}

/// A project with a run in session s1, and a link where the folder of s2 belongs.
fn project_with_a_link_for_a_session() -> TestProject {
    let project = project();
    let outside = project.home().join("ralph-state.json");
    std::fs::write(&outside, r#"{"active":true}"#).unwrap();
    project.put(json!({"mode":"ralph","active":true,"session_id":"s1"}));
    std::os::unix::fs::symlink(project.home(), project.state("sessions/s2")).unwrap();
    project
}

#[test]
fn cancel_1_4_a_link_in_place_of_a_session_does_not_stop_the_cancel_of_others() {
    let project = project_with_a_link_for_a_session();
    let answer = project.omx(&["cancel", "--every-session", "--json"]).ok();
    assert_eq!(project.session_document("s1", "ralph")["active"], false);
    assert!(answer["message"].as_str().unwrap().contains("Left alone"), "{answer}");
    let project = project_with_a_link_for_a_session();
    let answer = project.omx(&["cancel", "--force", "--json"]).ok();
    assert!(!project.session("s1", "ralph-state.json").exists());
    assert_eq!(answer["kept"].as_array().unwrap().len(), 1, "{answer}");
    let outside = std::fs::read_to_string(project.home().join("ralph-state.json")).unwrap();
    assert_eq!(outside, r#"{"active":true}"#);
}

#[test]
fn state_4_5_a_refused_clear_of_all_sessions_has_removed_nothing() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"s1"}));
    let before = project.bytes(".omx/state/sessions");
    std::fs::create_dir_all(project.session("s2", "ralph-state.json")).unwrap();
    let clear = project.state_op("clear", &json!({"mode":"ralph","all_sessions":true}));
    assert_eq!(clear.refused(), "unsafe_path");
    let after = project.bytes(".omx/state/sessions");
    let s1 = project.session("s1", "ralph-state.json");
    assert_eq!(before.get(&s1), after.get(&s1));
    assert!(after.contains_key(&s1));
}

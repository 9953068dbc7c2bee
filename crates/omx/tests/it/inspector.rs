//! A foreign client: the official MCP inspector, without a network.

use std::path::PathBuf;
use std::sync::OnceLock;

use omx_testkit::{CommandOutcome, TestProject, npm_tool};
use serde_json::{Value, json};

use crate::cancel_kit::stored;
use crate::mcp_protocol::TOOL_NAMES;
use crate::project;

fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        npm_tool("inspector", "@modelcontextprotocol/inspector@0.15.0", "mcp-inspector")
    })
}

/// Runs the inspector against a server of this project.
fn inspect(project: &TestProject, args: &[&str]) -> CommandOutcome {
    let path = std::env::var("PATH").unwrap();
    let output = project
        .command("unshare")
        .args(["--net", "--map-root-user", "env", "-i"])
        .arg(format!("PATH={path}"))
        .arg(format!("HOME={}", project.home().display()))
        .arg(program())
        .arg("--cli")
        .arg(project.binary())
        .arg("mcp")
        .args(args)
        .output()
        .expect("unshare runs (apt package util-linux)");
    output.into()
}

/// Calls a tool through the inspector.
#[track_caller]
fn call(project: &TestProject, tool: &str, arguments: &[&str]) -> Value {
    let mut args = vec!["--method", "tools/call", "--tool-name", tool];
    for argument in arguments {
        args.extend(["--tool-arg", argument]);
    }
    let result = inspect(project, &args).ok();
    let text = result["content"][0]["text"].as_str().expect("text");
    let same: Value = serde_json::from_str(text).unwrap();
    assert_eq!(same, result["structuredContent"], "{result}");
    result
}

#[test]
fn inspector_lists_the_tools() {
    let listed = inspect(&project(), &["--method", "tools/list"]).ok();
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, TOOL_NAMES);
}

#[test]
fn inspector_writes_reads_and_cancels() {
    let project = project();
    let start =
        ["mode=ralph", "session_id=s", "active=true", "iteration=2", "state={\"mine\":[1,2]}"];
    let written = call(&project, "state_write", &start);
    assert_eq!(written["isError"], false, "{written}");
    assert_eq!(written["structuredContent"]["revision"], 1);
    let document = stored(&project, Some("s"), "ralph");
    assert_eq!((&document["iteration"], &document["mine"]), (&json!(2), &json!([1, 2])));
    let read = call(&project, "state_read", &["mode=ralph", "session_id=s"]);
    assert_eq!(read["structuredContent"], document);
    let active = call(&project, "state_list_active", &[]);
    assert_eq!(active["structuredContent"]["active_modes"], json!(["ralph"]));
    let cancelled = call(&project, "cancel", &["session_id=s"]);
    assert_eq!(cancelled["structuredContent"]["cancelled"][0]["mode"], "ralph");
    assert_eq!(stored(&project, Some("s"), "ralph")["run_outcome"], "cancelled");
    let cleared = call(&project, "state_clear", &["mode=ralph", "all_sessions=true"]);
    assert_eq!(cleared["structuredContent"]["removed"], 1);
}

#[test]
fn inspector_gets_a_proper_tool_error_for_bad_input() {
    let project = project();
    let table = [
        ("state_write", &["mode=nope", "active=true"][..], "unknown_mode"),
        ("state_write", &["mode=ralph", "active=true", "iteration=-1"], "invalid_input"),
        ("state_write", &["mode=ralph", "active=true", "session_id=../x"], "invalid_session_id"),
        ("cancel", &["mode=ralph", "force=true"], "invalid_input"),
    ];
    for (tool, arguments, code) in table {
        let result = call(&project, tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(result["structuredContent"]["code"], code);
        assert!(result["structuredContent"]["error"].is_string());
    }
    assert!(!project.root().join(".omx").exists());
    let unknown = inspect(&project, &["--method", "tools/call", "--tool-name", "nope"]);
    assert_eq!(unknown.code, Some(1));
    assert!(unknown.stderr.contains("-32602"), "{unknown:?}");
}

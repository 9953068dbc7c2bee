//! The command line and the MCP server call the same operations: the same answers,
//! byte for byte, the same refusals, the same documents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use omx_testkit::{McpClient, TestProject};
use serde_json::{Value, json};

use crate::project;

/// A fresh project, then calls one after the other.
#[derive(Default)]
pub struct CallSequence {
    pub name: &'static str,
    files: Vec<(&'static str, String)>,
    environment: Vec<(&'static str, String)>,
    /// Operation, arguments, and the code of its refusal, or `ok`.
    pub calls: Vec<DoubleCall>,
}

pub type DoubleCall = (&'static str, &'static str, &'static str);

pub fn cases() -> Vec<CallSequence> {
    let (_, table) = include_str!("cli_and_mcp.txt").split_once("\n# ").unwrap();
    table.split("\n# ").map(case).collect()
}

fn case(text: &'static str) -> CallSequence {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let mut case = CallSequence { name: lines.next().unwrap(), ..CallSequence::default() };
    for line in lines {
        let (word, rest) = line.split_once(' ').unwrap();
        let pair = || {
            let (name, value) = rest.split_once(' ').unwrap();
            (name, serde_json::from_str(value).unwrap())
        };
        match word {
            "file" => case.files.push(pair()),
            "environment" => case.environment.push(pair()),
            operation => {
                let (arguments, wanted) = rest.rsplit_once(" => ").unwrap();
                case.calls.push((operation, arguments, wanted));
            }
        }
    }
    case
}

/// An answer: whether it is a refusal, and its text.
pub type CallAnswer = (bool, String);

pub fn prepared(case: &CallSequence) -> TestProject {
    let project = project();
    for (path, text) in &case.files {
        project.write(path, text);
    }
    project
}

/// Through the command line.
pub fn by_command_line(project: &TestProject, case: &CallSequence) -> Vec<CallAnswer> {
    let call = |(operation, arguments, _): &DoubleCall| {
        let mut args: Vec<String> = match *operation {
            "cancel" => vec!["cancel".into(), "--json".into()],
            operation => ["state", operation, "--json", "--input", "-"].map(str::to_owned).into(),
        };
        if *operation == "cancel" {
            let given: Value = serde_json::from_str(arguments).unwrap();
            for (name, value) in given.as_object().unwrap() {
                args.push(format!("--{}", name.replace('_', "-")));
                args.extend(value.as_str().map(str::to_owned));
            }
        }
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let mut command = project.omx_command(&args);
        command.envs(case.environment.iter().cloned());
        let input = project.folder().join("input");
        std::fs::write(&input, arguments).unwrap();
        let output = command.stdin(File::open(input).unwrap()).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.stderr.is_empty(), "{}: {:?}", case.name, output.stderr);
        let line = text.strip_suffix('\n').expect("a line").to_owned();
        assert!(!line.contains('\n'), "{}: one line", case.name);
        (output.status.code() != Some(0), line)
    };
    case.calls.iter().map(call).collect()
}

/// Through the MCP server, one for all calls.
fn by_mcp(project: &TestProject, case: &CallSequence) -> Vec<CallAnswer> {
    let mut command = project.omx_command(&["mcp"]);
    command.envs(case.environment.iter().cloned());
    let mut client = McpClient::start(command);
    let call = |(operation, arguments, _): &DoubleCall| {
        let tool = match *operation {
            "cancel" => "cancel".to_owned(),
            operation => format!("state_{}", operation.replace('-', "_")),
        };
        let line = client.call_raw(&tool, arguments);
        let text_of = |answer: &Value| answer["result"]["content"][0]["text"].clone();
        // Numbers beyond every type would not survive parsing: compare the text.
        let answer: Value = serde_json::from_str(&line.replace("1e400", "1e300")).unwrap();
        let text = text_of(&answer).as_str().expect("text").replace("1e300", "1e400");
        let structured = format!("\"structuredContent\":{text},\"isError\"");
        assert!(line.contains(&structured), "{}: text and structure differ: {line}", case.name);
        (answer["result"]["isError"].as_bool().unwrap(), text)
    };
    case.calls.iter().map(call).collect()
}

/// Text without what must differ: the temporary folder and times.
pub fn normal(project: &TestProject, text: &str) -> String {
    let text = text.replace(project.folder().to_str().unwrap(), "FOLDER");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("20") {
        let (before, found) = rest.split_at(at);
        out.push_str(before);
        let length = time_length(found);
        out.push_str(if length == 0 { &found[..2] } else { "TIME" });
        rest = &found[length.max(2)..];
    }
    out + rest
}

/// The length of the time a text begins with, with or without colons; 0 if it does not.
fn time_length(text: &str) -> usize {
    let is_date = |date: &str| {
        date.char_indices().all(|(at, c)| match at {
            4 | 7 => c == '-',
            10 => c == 'T',
            _ => c.is_ascii_digit(),
        })
    };
    if !text.get(..11).is_some_and(is_date) {
        return 0;
    }
    let clock = text[11..].find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.');
    clock.filter(|end| text[11 + end..].starts_with('Z')).map_or(0, |end| 11 + end + 1)
}

/// Everything below the project, without what must differ.
fn files(project: &TestProject) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for (path, bytes) in project.bytes(".") {
        if path.ends_with(".lock") {
            continue;
        }
        let text = normal(project, &String::from_utf8(bytes).unwrap());
        let text = text.replace(r#""actor":"mcp""#, r#""actor":"cli""#);
        files.insert(normal(project, path.to_str().unwrap()), text);
    }
    files
}

#[test]
fn cli_and_mcp_give_the_same_answers_and_leave_the_same_documents() {
    let cases = cases();
    assert!(cases.len() >= 60, "{} cases", cases.len());
    for case in &cases {
        let first = prepared(case);
        let second = prepared(case);
        let shell = by_command_line(&first, case);
        let mcp = by_mcp(&second, case);
        for (place, (operation, arguments, wanted)) in case.calls.iter().enumerate() {
            let (refused, text) = &shell[place];
            let what = format!("{}: {operation} {arguments}: {text}", case.name);
            let object: Value = serde_json::from_str(&text.replace("1e400", "1")).unwrap();
            let code = object["code"].as_str().filter(|_| *refused).unwrap_or("ok");
            assert_eq!(code, *wanted, "{what}");
            if *refused {
                assert_eq!(object.as_object().unwrap().len(), 2, "{what}");
                // A mode conflict names the cancel command (modes.md 3.2).
                if code != "mode_conflict" {
                    assert_speaks_to_both(object["error"].as_str().unwrap());
                }
            }
            assert_eq!(mcp[place].0, *refused, "{what}");
            assert_eq!(normal(&second, &mcp[place].1), normal(&first, text), "{what}");
        }
        assert_eq!(files(&second), files(&first), "{}", case.name);
    }
}

/// Asserts that a message names no flag and no command line: a model that reads it has
/// neither.
#[track_caller]
pub fn assert_speaks_to_both(message: &str) {
    let commands = ["omx cancel", "omx runs", "omx state", "omx config", "omx setup"];
    for words in ["--", "flag", "exit code", "exit status"].into_iter().chain(commands) {
        assert!(!message.contains(words), "{words:?} in {message}");
    }
}

#[test]
fn cli_and_mcp_cases_cover_every_code() {
    let met: BTreeSet<&str> =
        cases().iter().flat_map(|case| &case.calls).map(|(_, _, wanted)| *wanted).collect();
    let codes = "ok invalid_input unknown_mode invalid_session_id invalid_phase invalid_outcome \
        illegal_transition contradiction revision_conflict recently_cancelled mode_conflict \
        linked_mode session_required ambiguous_session corrupt_state unsafe_path too_large io";
    // `busy` takes five seconds and has its own test.
    assert_eq!(met, codes.split_whitespace().collect());
}

#[test]
fn cli_and_mcp_report_busy_when_the_lock_is_not_acquired_in_time() {
    let project = project();
    project.put(json!({"mode": "ralph", "active": true}));
    let documents = || {
        let is_mark = |path: &std::path::Path| {
            path.ends_with(".activity") || path.extension() == Some("cancel".as_ref())
        };
        let files = project.bytes(".").into_iter();
        files.filter(|(path, _)| !is_mark(path)).collect::<Vec<_>>()
    };
    let before = documents();
    let lock = File::options().write(true).open(project.state(".lock")).unwrap();
    lock.lock().unwrap();
    let args = ["cancel", "--json"];
    let child = project.omx_command(&args).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let (refused, object) = project.mcp().call("cancel", &json!({}));
    let shell: omx_testkit::CommandOutcome = child.wait_with_output().unwrap().into();
    assert!(refused);
    assert_eq!((shell.refused().as_str(), &object["code"]), ("busy", &json!("busy")));
    for error in [&shell.json()["error"], &object["error"]] {
        assert!(error.as_str().unwrap().contains("state write"), "the holder is named: {error}");
    }
    assert_eq!(documents(), before, "only the mark of the cancel is new");
}

#[test]
fn cli_and_mcp_refuse_oversized_input_alike() {
    let project = project();
    let half = |name: &str| {
        format!(r#"{{"mode":"ralph","active":true,"{name}":"{}"}}"#, "x".repeat(600 * 1024))
    };
    let whole = format!(r#"{{"mode":"ralph","active":true,"x":"{}"}}"#, "x".repeat(1024 * 1024));
    let mut client = project.mcp();
    let read = |line: String| -> Value { serde_json::from_str(&line).unwrap() };
    assert_eq!(read(client.call_raw("state_write", &half("a")))["result"]["isError"], false);
    let before = project.read(project.state("ralph-state.json"));
    for input in [half("b"), whole] {
        let mcp = read(client.call_raw("state_write", &input));
        assert_eq!(mcp["result"]["isError"], true);
        let args = ["state", "write", "--input", "-", "--json"];
        let shell = project.omx_stdin(&args, input.as_bytes());
        assert_eq!(shell.refused(), "too_large");
        assert_eq!(shell.json(), mcp["result"]["structuredContent"]);
    }
    assert_eq!(project.read(project.state("ralph-state.json")), before);
}

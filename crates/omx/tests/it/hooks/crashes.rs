//! R1 and R6 for hooks: killed or failing at every file system call, a hook leaves
//! the old or the new documents and keeps nobody waiting.

use std::fs;
use std::path::PathBuf;

use omx_testkit::strace::{Injection, Syscall, inject_reading, trace_reading};
use omx_testkit::tree::{DocumentTree, copy};
use omx_testkit::{TestProject, in_parallel, release_binary};
use serde_json::{Value, json};

const ARGS: [&str; 3] = ["hook", "--host", "claude"];

/// An event that changes something, in a project where it does.
struct RecordedHook {
    name: &'static str,
    template: TestProject,
    payload: Value,
    old: DocumentTree,
    new: DocumentTree,
    calls: Vec<Syscall>,
}

fn payload(project: &TestProject, payload: &Value) -> PathBuf {
    let mut payload = payload.clone();
    payload["cwd"] = json!(project.root());
    let path = project.folder().join("payload.json");
    fs::write(&path, payload.to_string()).unwrap();
    path
}

fn record(name: &'static str, event: Value, prepare: fn(&TestProject)) -> RecordedHook {
    let template = TestProject::new(release_binary());
    template.omx(&["state", "write", "--mode", "team", "--input", r#"{"active":false}"#]).ok();
    prepare(&template);
    let stage = copy(&template);
    let (outcome, calls) = trace_reading(&stage, &ARGS, &payload(&stage, &event));
    assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
    let (old, new) = (DocumentTree::read(&template), DocumentTree::read(&stage));
    assert_ne!(old.contents(), new.contents(), "{name} changes something: {outcome:?}");
    RecordedHook { name, template, payload: event, old, new, calls }
}

fn ralph(project: &TestProject) {
    let start = r#"{"mode":"ralph","active":true,"session_id":"s1","task_description":"x"}"#;
    project.omx(&["state", "write", "--input", start]).ok();
}

fn all() -> Vec<RecordedHook> {
    let stop = json!({"hook_event_name": "Stop", "session_id": "s1"});
    let prompt = |text: &str| json!({"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": text});
    vec![
        record("a stop that is held", stop, ralph),
        record("a start by prompt", prompt("$ralph x"), |_| {}),
        record("a cancel by prompt", prompt("cancelomx"), ralph),
        record(
            "a limit",
            json!({"hook_event_name": "StopFailure", "session_id": "s1", "error": "rate_limit"}),
            ralph,
        ),
    ]
}

#[test]
fn r1_a_hook_killed_at_any_call_leaves_the_old_or_the_new_document() {
    let rehearsed = all();
    let points: Vec<(&RecordedHook, &Syscall)> =
        rehearsed.iter().flat_map(|one| one.calls.iter().map(move |call| (one, call))).collect();
    in_parallel(3, &points, |(one, call)| {
        let project = copy(&one.template);
        let input = payload(&project, &one.payload);
        inject_reading(&project, &ARGS, call, Injection::Kill, &input);
        let at = format!("{} killed at {} {}: {}", one.name, call.name, call.nth, call.text);
        let now = DocumentTree::read(&project).contents();
        let (old, new) = (one.old.contents(), one.new.contents());
        assert!(now == old || now == new, "{at}: {now:#?}");
        // The next one works at once.
        let outcome = project.omx_stdin(&ARGS, &fs::read(&input).unwrap());
        assert_eq!(outcome.code, Some(0), "{at}: {outcome:?}");
        assert_ne!(DocumentTree::read(&project).contents(), old, "{at}");
    });
}

#[test]
fn r6_a_full_failing_or_read_only_disk_still_answers_and_tears_nothing() {
    let rehearsed = all();
    let mut points = Vec::new();
    for one in &rehearsed {
        for call in one.calls.iter().filter(|call| call.is_mutating() && !call.is_answer()) {
            points.extend(["ENOSPC", "EIO", "EROFS"].map(|error| (one, call, error)));
        }
    }
    assert!(points.len() > 60, "only {} points", points.len());
    in_parallel(3, &points, |(one, call, error)| {
        let project = copy(&one.template);
        let input = payload(&project, &one.payload);
        let outcome = inject_reading(&project, &ARGS, call, Injection::Error(error), &input);
        let at = format!("{}, {error} at {} {}: {}", one.name, call.name, call.nth, call.text);
        assert_eq!(outcome.code, Some(0), "{at}: {outcome:?}");
        assert_eq!(outcome.stdout.lines().count(), 1, "{at}: {outcome:?}");
        serde_json::from_str::<Value>(&outcome.stdout).unwrap();
        let now = DocumentTree::read(&project).contents();
        let known = [one.old.contents(), one.new.contents()];
        assert!(known.contains(&now), "{at}: {now:#?}");
    });
}

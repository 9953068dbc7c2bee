//! Invariants of a project after a failure at any point of a command.

use std::fs::File;
use std::time::{Duration, Instant};

use omx_testkit::TestProject;
use omx_testkit::tree::{DocumentTree, everything, leftovers};
use serde_json::Value;

use crate::crash_scenarios::{CORRUPT, RecordedScenario};

/// "At once", on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Every document is the old one, the new one, or one of a step between, whole.
#[track_caller]
pub fn documents_are_whole(rehearsed: &RecordedScenario, project: &TestProject, at: &str) {
    let now = DocumentTree::read(project);
    let RecordedScenario { old, middle, new, .. } = rehearsed;
    let mut paths: Vec<&String> = old.paths().chain(new.paths()).chain(now.paths()).collect();
    paths.sort();
    paths.dedup();
    for path in paths {
        let is_old = now.raw(path) == old.raw(path);
        let is_new = [new, middle].iter().any(|stage| {
            now.timeless(path) == stage.timeless(path)
                && (stage.raw(path).is_some() || *stage == new)
        });
        let is_aside = now.raw(path).is_none() && old.raw(path) == Some(CORRUPT);
        assert!(
            is_old || is_new || is_aside,
            "{at}: {path} is neither old nor new: {:?}",
            now.raw(path)
        );
        if !is_old && path.ends_with(".json") && !is_aside {
            let text = now.raw(path).unwrap_or("{}");
            serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{at}: {error}"));
        }
    }
    corrupt_bytes_are_kept(rehearsed, project, at);
    dependents_end_first(old, &now, at);
}

/// Unreadable bytes are in one place or the other, never lost.
#[track_caller]
fn corrupt_bytes_are_kept(rehearsed: &RecordedScenario, project: &TestProject, at: &str) {
    let is_corrupt = |path: &&String| rehearsed.old.raw(path) == Some(CORRUPT);
    let expected = rehearsed.old.paths().filter(is_corrupt).count();
    let found = everything(project).values().filter(|bytes| *bytes == CORRUPT.as_bytes()).count();
    assert_eq!(found, expected, "{at}: the unreadable document was lost or doubled");
}

/// No parent has ended while a linked mode is still active.
#[track_caller]
fn dependents_end_first(old: &DocumentTree, now: &DocumentTree, at: &str) {
    let was = old.scopes();
    for (folder, documents) in now.scopes() {
        let is_active = |mode: &str| documents.get(mode).is_some_and(|it| it["active"] == true);
        let was_active = |mode: &str| {
            was.get(&folder).and_then(|d| d.get(mode)).is_some_and(|it| it["active"] == true)
        };
        let names = |mode: &str, field: &str, value: Value| {
            documents.get(mode).is_some_and(|document| document[field] == value)
        };
        let links = [
            ("autopilot", "ralph", names("ralph", "linked_to", "autopilot".into())),
            ("ralph", "ultrawork", names("ultrawork", "linked_to_ralph", true.into())),
        ];
        for (parent, dependent, is_linked) in links {
            let is_orphan = was_active(parent) && !is_active(parent) && is_active(dependent);
            assert!(!(is_linked && is_orphan), "{at}: {dependent} outlived {parent} in {folder}");
        }
    }
}

/// Readers see the documents that are there and nothing else.
#[track_caller]
pub fn readers_are_right(project: &TestProject, at: &str) {
    let mut expected = Vec::new();
    for (folder, documents) in DocumentTree::read(project).scopes() {
        let session = folder.rsplit_once("/sessions/").map(|(_, session)| session.to_owned());
        for (mode, document) in documents {
            if document["active"] == true {
                expected.push((session.clone(), mode));
            }
        }
    }
    expected.sort();
    let listed = project.omx(&["state", "list-active", "--json"]).ok();
    let mut found: Vec<(Option<String>, String)> = listed["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| {
            let session = entry["session_id"].as_str().map(str::to_owned);
            (session, entry["mode"].as_str().expect("a mode").to_owned())
        })
        .collect();
    found.sort();
    assert_eq!(found, expected, "{at}: {listed}");
    let status = project.omx(&["state", "get-status", "--json"]).ok();
    let of_sessions = status["sessions"].as_object().into_iter().flat_map(|all| all.values());
    let active = std::iter::once(&status["statuses"])
        .chain(of_sessions)
        .flat_map(|modes| modes.as_object().expect("an object").values())
        .filter(|mode| mode["active"] == true)
        .count();
    assert_eq!(active, expected.len(), "{at}: {status}");
    for unreadable in status["unreadable"].as_array().into_iter().flatten() {
        let path = unreadable["path"].as_str().expect("a path");
        let text = std::fs::read_to_string(path).expect("a file");
        assert_eq!(text, CORRUPT, "{at}: a good file is called unreadable");
    }
}

/// The project's lock is free.
#[track_caller]
pub fn lock_is_free(project: &TestProject, at: &str) {
    if let Ok(lock) = File::open(project.state(".lock")) {
        assert!(lock.try_lock().is_ok(), "{at}: the lock is held");
    }
}

/// The same command again succeeds at once and leaves the final state and no leftovers.
#[track_caller]
pub fn repeats_to_the_end(rehearsed: &RecordedScenario, project: &TestProject, at: &str) {
    let start = Instant::now();
    let outcome = project.omx(&rehearsed.args());
    assert_eq!(outcome.code, Some(0), "{at}: the repeated command: {outcome:?}");
    assert!(start.elapsed() < AT_ONCE, "{at}: repeating took {:?}", start.elapsed());
    let now = DocumentTree::read(project);
    assert_eq!(now.contents(), rehearsed.new.contents(), "{at}: after repeating");
    assert_eq!(leftovers(project), Vec::<String>::new(), "{at}: after repeating");
    let log = project.root().join(".omx/log/events.jsonl");
    for line in std::fs::read_to_string(log).unwrap_or_default().lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{at}: {error}: {line}"));
    }
    corrupt_bytes_are_kept(rehearsed, project, at);
    lock_is_free(project, at);
}

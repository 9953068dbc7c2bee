//! trust.md 2.3: a run folder that came with a clone is foreign until the person adopts it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use omx_testkit::{CommandOutcome, TestProject, await_condition};
use rustix::process::Signal;

use super::kit::Clone;
use crate::conduct::Repository;

/// A clone with a run of somebody else in it: killed before it ended.
fn clone_with_run() -> (Clone, String) {
    // The other person's run.
    let theirs = Repository::new();
    let outcome = theirs.run("autopilot", &["--budget-tokens", "1", "greet"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    clone_with_run_of(&theirs)
}

fn clone_with_run_of(theirs: &Repository) -> (Clone, String) {
    let id = theirs.id();
    let mut files = Vec::new();
    let base = theirs.project.root();
    collect(&base, &theirs.run_folder(), &mut files);
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    (Clone::with(&files), id)
}

fn collect(base: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(base, &path, files);
        } else if let Ok(text) = fs::read_to_string(&path) {
            files.push((path.strip_prefix(base).unwrap().to_str().unwrap().to_owned(), text));
        }
    }
}

#[track_caller]
fn assert_foreign(outcome: &CommandOutcome) {
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(text.contains("foreign") && text.contains("runs adopt"), "{outcome:?}");
}

#[test]
fn trust_2_3_a_run_that_came_with_a_clone_is_foreign() {
    let (clone, id) = clone_with_run();
    let project = &clone.project;
    let listed = project.omx(&["runs"]);
    assert!(listed.stdout.contains("foreign"), "{listed:?}");
    assert_eq!(project.omx(&["runs", "--json"]).ok()["runs"][0]["foreign"], true);
    let shown = project.omx(&["runs", "show", &id]).stdout;
    assert!(shown.contains("foreign: ") && !shown.contains("resume it"), "{shown}");
    assert_eq!(project.omx(&["runs", "show", &id, "--json"]).ok()["foreign"], true);
    assert_foreign(&project.omx(&["runs", "resume", &id]));
    assert_foreign(&project.omx(&["runs", "drive", &id]));
    assert_foreign(&clone.start(&["--resume", &id]));
    assert_foreign(&project.omx(&["runs", "integrate", &id]));
    assert_foreign(&project.omx(&["runs", "discard", &id, "--force"]));
    assert_foreign(&project.omx(&["runs", "limit", &id, "99"]));
    let resumed = clone.start(&["--resume"]);
    assert_eq!(resumed.code, Some(1), "the latest unfinished run is not this one: {resumed:?}");
    let mut server = project.mcp();
    let (is_error, answer) = server.call("run_resume", &serde_json::json!({ "id": id }));
    assert!(is_error && answer["code"] == "needs_trust", "{answer}");
    let folder = project.root().join(".omx/runs").join(&id);
    assert!(folder.join("run.json").exists());
}

#[test]
fn trust_2_3_the_person_adopts_a_run_after_a_look() {
    let (clone, id) = clone_with_run();
    let project = &clone.project;
    let shown = project.omx(&["runs", "adopt", &id]);
    assert_eq!(shown.code, Some(3), "without a terminal nobody agreed: {shown:?}");
    for expected in ["greet", "rehearsal", "sh check.sh", "allow"] {
        assert!(shown.stdout.contains(expected), "{expected}: {shown:?}");
    }
    assert_foreign(&project.omx(&["runs", "resume", &id]));
    assert_eq!(project.omx(&["runs", "adopt", &id, "--yes"]).code, Some(0));
    let listed = project.omx(&["runs"]);
    assert!(!listed.stdout.contains("foreign"), "{listed:?}");
    let limit = project.omx(&["runs", "limit", &id, "99"]);
    assert_eq!(limit.code, Some(0), "{limit:?}");
    // A pull that changes what the run does makes it foreign again.
    let spec = project.root().join(".omx/runs").join(&id).join("run.json");
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, text.replace("sh check.sh", "id")).unwrap();
    assert_foreign(&project.omx(&["runs", "resume", &id]));
    assert_listed_as_foreign(project, &id);
}

/// Every list says it.
#[track_caller]
fn assert_listed_as_foreign(project: &TestProject, id: &str) {
    let listed = project.omx(&["runs"]);
    assert!(listed.stdout.contains("foreign"), "{listed:?}");
    let listed = project.omx(&["runs", "--json"]).ok();
    let runs = listed["runs"].as_array().unwrap();
    let run = runs.iter().find(|run| run["id"] == id).unwrap();
    assert_eq!(run["foreign"], true, "{run:#}");
    let shown = project.omx(&["runs", "show", id]).stdout;
    assert!(shown.contains("foreign: ") && !shown.contains("resume it"), "{shown}");
    let (is_error, answer) = project.mcp().call("run_status", &serde_json::json!({ "id": id }));
    assert!(!is_error && answer["foreign"] == true, "{answer}");
}

/// A copy of a run folder in another clone of the same person: somebody who knows the run,
/// such as its agent, can put it there.
#[test]
fn trust_2_3_a_copy_of_a_run_in_another_clone_is_foreign() {
    let original = Repository::new();
    let outcome = original.run("autopilot", &["--budget-tokens", "1", "greet"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let (id, root) = (original.id(), original.project.root());
    let copy = original.project.folder().join("copy");
    let status = Command::new("cp").arg("-a").args([&root, &copy]).status().unwrap();
    assert!(status.success());
    let copied = copy.to_str().unwrap();
    let there = |args: &[&str]| original.project.omx(&[&["--root", copied], args].concat());
    let listed = there(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["foreign"], true, "{listed:#}");
    assert_foreign(&there(&["runs", "resume", &id]));
    assert_foreign(&there(&["runs", "integrate", &id]));
    assert_foreign(&there(&["runs", "discard", &id, "--force"]));
    let listed = original.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["foreign"], serde_json::Value::Null, "{listed:#}");
    // Of a project that was moved, there is no other.
    fs::rename(&root, original.project.folder().join("aside")).unwrap();
    fs::create_dir(&root).unwrap();
    let listed = there(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["foreign"], serde_json::Value::Null, "{listed:#}");
    assert_eq!(there(&["runs", "limit", &id, "99"]).code, Some(0));
}

/// Also where an index serves the list.
#[test]
fn trust_2_3_a_run_that_was_changed_is_listed_as_foreign() {
    let repository = Repository::new();
    for _ in 0..17 {
        let outcome = repository.run("ralph", &["--budget-tokens", "1", "greet"]);
        assert_eq!(outcome.code, Some(5), "{outcome:?}");
    }
    let project = &repository.project;
    let index = project.root().join(".omx/runs/.index-full.jsonl");
    await_condition("the index is written", Duration::from_secs(60), || {
        assert_eq!(project.omx(&["runs", "--json"]).code, Some(0));
        index.exists()
    });
    let spec = repository.run_folder().join("run.json");
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, text.replace("sh check.sh", "sh other.sh")).unwrap();
    assert_listed_as_foreign(project, &repository.id());
    let listed = project.omx(&["runs", "--json"]).ok();
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(|run| run["foreign"] == true).count(), 1, "{listed:#}");
}

/// Its document is still active: nobody ended it.
#[test]
fn trust_2_3_status_names_a_killed_run_that_was_changed() {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(12);
    running.signal(Signal::KILL);
    running.code();
    repository.await_nobody();
    let project = &repository.project;
    assert_eq!(project.omx(&["status", "--json"]).ok()["foreign"], serde_json::Value::Null);
    let spec = repository.run_folder().join("run.json");
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, text.replace("sh check.sh", "sh other.sh")).unwrap();
    let status = project.omx(&["status", "--json"]).ok();
    assert_eq!(status["foreign"][0], repository.id(), "{status:#}");
    assert!(project.omx(&["status"]).stdout.contains("is foreign"));
    assert_listed_as_foreign(project, &repository.id());
}

/// The journal can come with a pull, or be written by an agent that works in place.
#[test]
fn trust_2_3_a_run_whose_journal_changes_what_it_does_is_foreign() {
    let repository = Repository::new();
    let outcome = repository.run("ralph", &["--budget-tokens", "1", "greet"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let (project, id) = (&repository.project, repository.id());
    // What the person changes stays the person's.
    let resumed = project.omx(&["runs", "resume", &id, "--check", "sh check.sh; true"]);
    assert_eq!(resumed.code, Some(5), "{resumed:?}");
    let listed = project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["foreign"], serde_json::Value::Null, "{listed:#}");
    let journal = repository.run_folder().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let ran = project.folder().join("ran");
    let seq = text.lines().count() + 1;
    let check = format!("touch '{}'", ran.display());
    let record = serde_json::json!({"kind": "spec_changed", "allow": "all", "check": check});
    let line = serde_json::json!({"seq": seq, "at": "2026-11-16T10:00:00.000Z", "record": record});
    fs::write(&journal, format!("{text}{line}\n")).unwrap();
    assert_listed_as_foreign(project, &id);
    assert_foreign(&project.omx(&["runs", "resume", &id, "--budget-tokens", "1000000"]));
    assert!(!ran.exists());
    // Adopting it shows what it would do now.
    let shown = project.omx(&["runs", "adopt", &id]);
    assert!(shown.stdout.contains(&check) || shown.stderr.contains(&check), "{shown:?}");
}

#[test]
fn trust_2_3_gc_leaves_a_foreign_run_alone() {
    let theirs = Repository::new();
    theirs.assert_complete(&theirs.run("autopilot", &["greet people by name"]));
    let (clone, id) = clone_with_run_of(&theirs);
    let folder = clone.project.root().join(".omx/runs").join(&id);
    // It is complete and ended long ago, so one of the person's own would be removed.
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap();
    fs::write(folder.join("journal.jsonl"), journal.replace("\"at\":\"20", "\"at\":\"19")).unwrap();
    let collect = || clone.project.omx(&["runs", "gc"]);
    let collected = collect();
    assert_eq!(collected.code, Some(0), "{collected:?}");
    assert!(folder.exists(), "{collected:?}");
    assert_eq!(clone.project.omx(&["runs", "adopt", &id, "--yes"]).code, Some(0));
    let collected = collect();
    assert!(!folder.exists(), "{collected:?}");
}

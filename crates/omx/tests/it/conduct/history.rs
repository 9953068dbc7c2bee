//! A project with a history: one unreadable run hides no other (trust.md 5.5), and what is
//! listed stays right however it was found (6.4).

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use omx_testkit::await_condition;
use serde_json::{Value, json};

use super::kit::{DEADLINE, Repository, RunningOmx, quick_scenario};
use crate::project;

/// A later run than any other.
const LATEST: &str = "ffffffff-0000-7000-8000-000000000001";

fn runs(repository: &Repository) -> Vec<Value> {
    let report = repository.project.omx(&["runs", "--json"]).ok();
    report["runs"].as_array().unwrap().clone()
}

/// A run that was killed in its first step.
fn killed_run() -> Repository {
    let says = "say = \"I read check.sh: it wants a greeting by name.\"";
    let slow = quick_scenario().replacen(says, "delay_ms = 60000", 1);
    let repository = Repository::playing(&slow);
    let run: RunningOmx = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(3);
    drop(run);
    repository.await_nobody();
    fs::write(repository.project.folder().join("scenario.toml"), quick_scenario()).unwrap();
    repository
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Makes a latest run that cannot be read.
type Spoil = fn(&Path, &Path);

const SPOILS: [(&str, Spoil); 7] = [
    ("a broken spec", |_, run| fs::write(run.join("run.json"), "{").unwrap()),
    ("no spec", |_, run| fs::remove_file(run.join("run.json")).unwrap()),
    ("a broken journal", |_, run| {
        fs::write(run.join("journal.jsonl"), "nonsense\n{}\n").unwrap();
    }),
    ("a folder for a lock", |_, run| {
        fs::remove_file(run.join("lock")).unwrap();
        fs::create_dir(run.join("lock")).unwrap();
    }),
    ("a pipe for a journal", |_, run| {
        fs::remove_file(run.join("journal.jsonl")).unwrap();
        let made = Command::new("mkfifo").arg(run.join("journal.jsonl")).status().unwrap();
        assert!(made.success());
    }),
    ("a link", |good, run| {
        fs::remove_dir_all(run).unwrap();
        symlink(good, run).unwrap();
    }),
    ("a file", |_, run| {
        fs::remove_dir_all(run).unwrap();
        fs::write(run, "not a folder").unwrap();
    }),
];

#[test]
fn trust_5_5_an_unreadable_run_is_shown_as_such_and_blocks_no_other() {
    let repository = killed_run();
    let good = repository.run_folder();
    let id = repository.id();
    let run = good.with_file_name(LATEST);
    let omx = |args: &[&str]| repository.project.omx(args);
    for (what, spoil) in SPOILS {
        copy(&good, &run);
        spoil(&good, &run);
        let listed = omx(&["runs"]);
        assert_eq!(listed.code, Some(0), "{what}: {listed:?}");
        let lines: Vec<&str> = listed.stdout.lines().collect();
        assert_eq!(lines.len(), 2, "{what}: {listed:?}");
        assert!(lines[0].starts_with(&id) && lines[0].contains("stopped"), "{what}: {listed:?}");
        assert!(lines[1].starts_with(&format!("{LATEST}  unreadable: ")), "{what}: {listed:?}");
        let listed = runs(&repository);
        let states: Vec<&Value> = listed.iter().map(|run| &run["state"]).collect();
        assert_eq!(states, ["stopped", "unreadable"], "{what}");
        assert!(!listed[1]["why"].as_str().unwrap().is_empty(), "{what}: {listed:?}");
        for args in [&["ps"][..], &["ps", "--json"], &["status"], &["runs", "show", &id]] {
            let outcome = omx(args);
            assert_eq!(outcome.code, Some(0), "{what}, {args:?}: {outcome:?}");
        }
        let collected = omx(&["runs", "gc"]);
        assert_eq!(collected.code, Some(0), "{what}: {collected:?}");
        let kept = format!("kept: run {LATEST} (unreadable: ");
        assert!(collected.stdout.contains(&kept), "{what}: {collected:?}");
        let shown = omx(&["runs", "show", LATEST]);
        assert_eq!(shown.code, Some(1), "{what}: {shown:?}");
        let _ = fs::remove_dir_all(&run);
        let _ = fs::remove_file(&run);
    }
    // `--resume` without an id takes the latest run that can be resumed.
    copy(&good, &run);
    fs::write(run.join("run.json"), "{").unwrap();
    symlink(&good, run.with_file_name("ffffffff-0000-7000-8000-000000000002")).unwrap();
    let resumed = omx(&["autopilot", "--resume"]);
    assert!(resumed.stdout.contains("complete: "), "{resumed:?}");
    let states: Vec<Value> = runs(&repository).iter().map(|run| run["state"].clone()).collect();
    assert_eq!(states, ["complete", "unreadable", "unreadable"]);
}

/// So many copies of a run that is complete.
fn long_history(count: usize) -> (Repository, Vec<PathBuf>) {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    let good = repository.run_folder();
    let copies: Vec<PathBuf> = (0..count)
        .map(|number| good.with_file_name(format!("ffffffff-0000-7000-8000-{number:012x}")))
        .collect();
    copies.iter().for_each(|path| copy(&good, path));
    (repository, copies)
}

fn index(repository: &Repository) -> PathBuf {
    repository.project.root().join(".omx/runs/.index-full.jsonl")
}

/// Lists until the index is there: it keeps nothing that has just changed.
fn await_index(repository: &Repository) {
    await_condition("the index is made", DEADLINE, || {
        runs(repository);
        index(repository).exists()
    });
}

/// Gives a run a process that drives it: this one. Its lock is held as long as the result
/// lives.
fn make_live(run: &Path) -> fs::File {
    fs::write(run.join("lock"), json!({"pid": std::process::id()}).to_string()).unwrap();
    let lock = fs::File::options().write(true).open(run.join("lock")).unwrap();
    lock.lock().unwrap();
    let text = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let opened = json!({"kind": "opened", "version": "0.1.0"});
    let next = text.lines().count() + 1;
    let line = json!({"seq": next, "at": "2026-11-16T10:00:00.000Z", "record": opened});
    fs::write(run.join("journal.jsonl"), format!("{text}{line}\n")).unwrap();
    lock
}

#[test]
fn trust_6_4_a_long_list_shows_the_newest_and_what_may_be_live() {
    let (repository, copies) = long_history(140);
    let _live = make_live(&copies[9]);
    let list = |args: &[&str]| repository.project.omx(&[&["runs"], args].concat());
    let all = list(&["--all", "--json"]).ok();
    assert_eq!(all["runs"].as_array().unwrap().len(), 141);
    await_index(&repository);
    let recent = list(&["--json"]).ok();
    let ids = |answer: &Value| -> Vec<String> {
        let runs = answer["runs"].as_array().unwrap().iter();
        runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    let newest = &ids(&all)[41..];
    assert_eq!(ids(&recent)[1..], *newest);
    assert!(copies[9].ends_with(&ids(&recent)[0]), "{recent}");
    assert_eq!(recent["runs"][0]["state"], "running");
    assert_eq!(recent["older"], 40);
    let first = list(&[]).stdout.lines().next().unwrap().to_owned();
    assert_eq!(first, "40 older runs: omx runs --all");
    assert_eq!(list(&["list", "--all", "--json"]).ok(), all);
}

#[test]
fn trust_6_4_the_list_of_runs_is_right_with_and_without_its_index() {
    let (repository, copies) = long_history(40);
    let before = runs(&repository);
    assert_eq!(before.len(), 41);
    await_index(&repository);
    assert_eq!(runs(&repository), before);
    // A run that went on is read again.
    let journal = copies[7].join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let next = text.lines().count() + 1;
    let closed = json!({"kind": "closed", "outcome": "failed", "why": "no", "worked_ms": 1});
    let line = json!({"seq": next, "at": "2026-11-16T10:00:00.000Z", "record": closed});
    fs::write(&journal, format!("{text}{line}\n")).unwrap();
    let after = runs(&repository);
    let id = copies[7].file_name().unwrap().to_str().unwrap();
    let state = |runs: &[Value]| {
        runs.iter().find(|run| run["id"] == id).map(|run| run["state"].clone()).unwrap()
    };
    assert_eq!((state(&before), state(&after)), (json!("complete"), json!("failed")));
    // One that is gone is not listed.
    fs::remove_dir_all(&copies[8]).unwrap();
    assert_eq!(runs(&repository).len(), 40);
    // A live one is live, whatever the index says.
    let lock = make_live(&copies[9]);
    let id = copies[9].file_name().unwrap().to_str().unwrap();
    let listed = runs(&repository);
    assert!(listed.iter().any(|run| run["id"] == id && run["state"] == "running"), "{listed:?}");
    drop(lock);
    // Whatever the index contains, it is only a hint.
    let expected = runs(&repository);
    let good = fs::read_to_string(index(&repository)).unwrap();
    let other = good.replacen(good.lines().next().unwrap(), r#"{"format":3,"root":"/other"}"#, 1);
    for text in
        ["", "nonsense\n", &good[..good.len() / 2], &other, &good.replace("\"complete\"", "7")]
    {
        fs::write(index(&repository), text).unwrap();
        assert_eq!(runs(&repository), expected, "{}", &text[..text.len().min(80)]);
    }
    fs::remove_file(index(&repository)).unwrap();
    symlink("/dev/full", index(&repository)).unwrap();
    assert_eq!(runs(&repository), expected);
}

#[test]
fn trust_6_4_active_sessions_are_found_with_and_without_their_index() {
    let project = project();
    project.put(json!({"mode": "ralph", "active": true, "session_id": "live"}));
    // As many as are split over the processors.
    for number in 0..1_200 {
        let name = format!(".omx/state/sessions/quiet-{number:03}/ralph-state.json");
        project.write(&name, r#"{"mode":"ralph","active":false,"current_phase":"executing"}"#);
    }
    let sessions = || -> Vec<String> {
        let answer = project.omx(&["state", "list-active", "--json"]).ok();
        let entries = answer["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["session_id"].as_str().unwrap().to_owned()).collect()
    };
    let index = project.state(".sessions-index.jsonl");
    assert_eq!(sessions(), ["live"]);
    await_condition("the index is made", DEADLINE, || {
        sessions();
        index.exists()
    });
    assert_eq!(sessions(), ["live"]);
    // By a program that writes in place, with the same size, and keeps the time.
    let path = project.session("quiet-007", "ralph-state.json");
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, r#"{"mode":"ralph","active":true ,"current_phase":"executing"}"#).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
    assert_eq!(sessions(), ["live", "quiet-007"]);
    // By a new document beside a quiet one, and by a rename.
    project.put(json!({"mode": "ultrawork", "active": true, "session_id": "quiet-009"}));
    let other = project.write("other", r#"{"mode":"ralph","active":true}"#);
    fs::rename(other, project.session("quiet-011", "ralph-state.json")).unwrap();
    assert_eq!(sessions(), ["live", "quiet-007", "quiet-009", "quiet-011"]);
    let unreadable = project.session("quiet-013", "ralph-state.json");
    fs::write(unreadable, "{").unwrap();
    let answer = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(answer["unreadable"].as_array().unwrap().len(), 1, "{answer}");
    let expected = sessions();
    // An index can come with a clone. A line is not believed if it names other files than
    // the documents of its session.
    let stamp = |path: &Path| {
        let file = fs::metadata(path).unwrap();
        json!([file.ino(), file.size(), file.ctime() * 1_000_000_000 + file.ctime_nsec()])
    };
    let quiet = project.session("quiet-001", "ralph-state.json");
    let folder = project.state("sessions/quiet-011");
    let documents = json!([["../quiet-001/ralph-state.json", stamp(&quiet)]]);
    let line = json!({"session": "quiet-011", "folder": stamp(&folder), "documents": documents});
    for text in ["", "nonsense\n", "{}\n[]\n", &format!("{line}\n")] {
        fs::write(&index, text).unwrap();
        assert_eq!(sessions(), expected);
        let status = project.omx(&["status"]).stdout;
        assert!(status.contains("quiet-011") && !status.contains("quiet-012"), "{status}");
    }
}

#[test]
fn trust_6_4_the_event_log_is_rotated_by_size() {
    let project = project();
    project.put(json!({"mode": "ralph", "active": true}));
    let log = project.root().join(".omx/log/events.jsonl");
    for _ in 0..2 {
        let file = fs::File::options().write(true).open(&log).unwrap();
        file.set_len(33 * 1024 * 1024).unwrap();
        project.put(json!({"mode": "ralph", "current_phase": "executing"}));
        assert!(fs::metadata(&log).unwrap().len() < 10_000);
    }
    let names: Vec<_> = fs::read_dir(log.parent().unwrap()).unwrap().flatten().collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn trust_6_4_documents_that_ended_long_ago_are_removed_by_retention() {
    let project = project();
    let ended = json!({"mode": "ralph", "active": false, "run_outcome": "finish"});
    for session in ["ended", "mixed", "foreign"] {
        let name = format!(".omx/state/sessions/{session}/ralph-state.json");
        project.write(&name, ended.to_string());
    }
    project.put(json!({"mode": "ultrawork", "active": true, "session_id": "mixed"}));
    project.put(json!({"mode": "ralph", "active": true, "session_id": "live"}));
    project.write(".omx/state/sessions/broken/ralph-state.json", "{");
    project.write(".omx/state/sessions/foreign/notes.txt", "mine");
    let context = project.write(".omx/context/old-20260101.md", "# old");
    let kept = project.omx(&["runs", "gc"]);
    assert_eq!(kept.code, Some(0), "{kept:?}");
    assert!(project.session("ended", "ralph-state.json").exists());
    await_condition("the retention is over", DEADLINE, || {
        let outcome = project.omx(&["--config", "retention=1 second", "runs", "gc"]);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        !project.state("sessions/ended").exists() && !context.exists()
    });
    for (session, mode) in
        [("mixed", "ralph"), ("mixed", "ultrawork"), ("live", "ralph"), ("broken", "ralph")]
    {
        assert!(project.session(session, &format!("{mode}-state.json")).exists(), "{session}");
    }
    assert!(project.session("foreign", "notes.txt").exists());
}

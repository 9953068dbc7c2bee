//! Approval requests for the person: shown in every view, answered from anywhere.

use std::process::Stdio;

use omx_testkit::await_condition;
use serde_json::Value;

use super::kit::{DEADLINE, Repository, RunningOmx, asking_scenario};

/// A run that waits for approval.
fn asking() -> (Repository, RunningOmx) {
    let mut repository = Repository::playing(&asking_scenario());
    repository.check = "true".to_owned();
    let mut command = repository.command("ralph", &["--allow", "edits", "make work.txt"]);
    let running = RunningOmx(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    await_condition("it asks", DEADLINE, || {
        let report = repository.project.omx(&["runs", "show", "--json", &repository.id()]);
        report.json()["questions"].as_array().is_some_and(|questions| !questions.is_empty())
    });
    (repository, running)
}

fn printed(running: &mut RunningOmx) -> String {
    let mut text = String::new();
    let mut out = running.0.stdout.take().unwrap();
    std::io::Read::read_to_string(&mut out, &mut text).unwrap();
    text
}

fn worktree(repository: &Repository) -> std::path::PathBuf {
    repository.project.root().join(".omx/worktrees/run").join(repository.id())
}

#[test]
fn conductor_a_command_under_edits_needs_the_person_and_runs_on_yes() {
    let (repository, mut running) = asking();
    let id = repository.id();
    // Every view shows it, with the command that answers.
    let listed = repository.project.omx(&["runs"]).stdout;
    assert!(listed.contains("needs you"), "{listed}");
    let report = repository.project.omx(&["runs", "show"]).stdout;
    assert!(report.contains("needs you: allow work to run echo done > work.txt?"), "{report}");
    assert!(report.contains(&format!("omx runs answer {id} yes|no --question 1")), "{report}");
    let question = &repository.project.omx(&["runs", "show", "--json"]).ok()["questions"][0];
    assert_eq!(question["number"], 1);
    assert_eq!(question["what"], "run echo done > work.txt");
    assert!(!worktree(&repository).join("work.txt").exists(), "it did not wait");
    let wrong = repository.project.omx(&["runs", "answer", &id, "yes", "--question", "7"]);
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let answered = repository.project.omx(&["runs", "answer", &id, "yes"]);
    assert_eq!(answered.code, Some(0), "{answered:?}");
    assert_eq!(running.code(), Some(0));
    let text = printed(&mut running);
    assert!(text.contains(&format!("omx runs answer {id} yes|no")), "{text}");
    let made = repository.project.run_git(&["show", &format!("omx-run/{id}:work.txt")]).stdout;
    assert_eq!(made, "done\n");
    let late = repository.project.omx(&["runs", "answer", &id, "yes"]);
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(late.stderr.contains("has no open question"), "{late:?}");
}

#[test]
fn conductor_a_command_under_edits_does_not_run_on_no() {
    let (repository, mut running) = asking();
    let id = repository.id();
    assert_eq!(repository.project.omx(&["runs", "answer", &id, "no"]).code, Some(0));
    assert_eq!(running.code(), Some(0));
    assert!(!worktree(&repository).join("work.txt").exists());
    let events = std::fs::read_to_string(repository.run_folder().join("events.jsonl")).unwrap();
    let message = events.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let reported = message.filter_map(|event| event["text"].as_str().map(str::to_owned));
    assert!(reported.into_iter().any(|text| text.contains("the person denied it")), "{events}");
}

#[test]
fn conductor_a_question_of_a_killed_run_is_asked_again() {
    let (repository, mut running) = asking();
    running.signal(rustix::process::Signal::KILL);
    running.code();
    repository.await_nobody();
    let id = repository.id();
    // No process waits for an answer now.
    let report = repository.project.omx(&["runs", "show", "--json"]).ok();
    assert_eq!(report["questions"], serde_json::json!([]));
    let mut resumed = repository.project.omx_command(&["runs", "resume"]);
    let mut resumed =
        RunningOmx(resumed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    await_condition("it asks again", DEADLINE, || {
        repository.project.omx(&["runs", "answer", &id, "yes"]).code == Some(0)
    });
    assert_eq!(resumed.code(), Some(0));
    let made = repository.project.run_git(&["show", &format!("omx-run/{id}:work.txt")]).stdout;
    assert_eq!(made, "done\n");
}

/// Between locking a run and recording its new owner, another process must not
/// answer a question that nobody waits for.
#[test]
fn conductor_a_question_of_an_earlier_process_is_not_answered() {
    let (repository, mut running) = asking();
    let id = repository.id();
    running.signal(rustix::process::Signal::KILL);
    running.code();
    repository.await_nobody();
    let lock = repository.run_folder().join("lock");
    let mut taker = std::process::Command::new("flock");
    taker.arg("--exclusive").arg(&lock).arg(repository.project.binary()).arg("mcp");
    let mut taker = taker.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    await_condition("somebody holds the run", DEADLINE, || {
        repository.project.omx(&["runs", "resume"]).code == Some(1)
    });
    let report = repository.project.omx(&["runs", "show", "--json"]).ok();
    assert_eq!(report["questions"], serde_json::json!([]));
    let answered = repository.project.omx(&["runs", "answer", &id, "yes"]);
    assert_eq!(answered.code, Some(1), "{answered:?}");
    // When its input closes, the server exits and releases the lock.
    drop(taker.stdin.take());
    taker.wait().unwrap();
}

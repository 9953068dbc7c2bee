//! Before a task is sent again, the agent's own record of the conversation is asked whether
//! the task was received.

use std::fs;
use std::path::PathBuf;

use omx_testkit::await_condition;
use rustix::process::Signal;
use serde_json::Value;

use super::kit::{DEADLINE, Repository};
use super::own_git::on_branch;
use super::scenario::{ralph_scenario, run, write};

/// A ralph that was killed while its builder worked, before the journal knew that the builder
/// had received its task.
fn killed(actions: &str) -> Repository {
    let begun = "test -e begun || { touch begun; sleep 60; }";
    let scenario = ralph_scenario(&(actions.to_owned() + &run(begun)))
        .replace("times = 1", "times = 2\nrequired = false");
    let mut repository = Repository::playing(&scenario);
    repository.check = "true".to_owned();
    fs::write(repository.project.root().join(".gitignore"), "begun\n").unwrap();
    super::own_git::git(&repository, &["add", "-A"]);
    super::own_git::git(&repository, &["commit", "-qm", "ignore"]);
    let mut running = repository.start("ralph", &["make work.txt"]);
    let mark = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    await_condition("the builder works", DEADLINE, || mark.join("begun").exists());
    running.signal(Signal::KILL);
    running.code();
    repository.await_nobody();
    let journal = repository.run_folder().join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let is_kept = |line: &&str| !line.contains("\"delivered\"") && !line.contains("\"usage\"");
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    assert!(kept.last().unwrap().contains("\"conversation\""), "{text}");
    fs::write(&journal, kept.join("\n") + "\n").unwrap();
    repository
}

/// The records of the rehearsal agent's conversations.
fn records(repository: &Repository) -> Vec<PathBuf> {
    let files = fs::read_dir(repository.run_folder().join("rehearsal")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let is_record = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.ends_with(".json") && !name.starts_with("plays.")
    };
    files.filter(is_record).collect()
}

/// What the builder was told.
fn messages_to(record: &PathBuf) -> Vec<String> {
    let record: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    let words = record["words"].as_array().unwrap().iter();
    words.filter_map(|said| said["heard"].as_str().map(str::to_owned)).collect()
}

#[test]
fn trust_5_1b_a_task_that_the_agent_has_on_record_is_not_sent_again() {
    let repository = killed(&write("work.txt", "done\n"));
    let record = records(&repository).pop().unwrap();
    let resumed = repository.resume(&[]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    let heard = messages_to(&record);
    assert_eq!(heard.len(), 2, "{heard:#?}");
    assert!(heard[0].contains("## Your part"), "{heard:#?}");
    assert!(heard[1].starts_with("You were interrupted."), "{heard:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "done\n");
}

#[test]
fn trust_5_1b_a_conversation_whose_record_is_empty_begins_again_in_an_untouched_workspace() {
    let repository = killed("");
    let record = records(&repository).pop().unwrap();
    fs::write(&record, "").unwrap();
    let resumed = repository.resume(&[]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    assert!(resumed.stdout.contains("work begins again"), "{resumed:#?}");
}

#[test]
fn trust_5_1b_a_conversation_that_is_lost_with_its_work_is_asked_about_with_the_command() {
    let repository = killed(&write("work.txt", "half\n"));
    let record = records(&repository).pop().unwrap();
    fs::write(&record, "").unwrap();
    let asked = repository.resume(&[]);
    assert_eq!(asked.code, Some(3), "{asked:#?}");
    assert!(asked.stdout.contains("nobody knows how much of work is done"), "{asked:#?}");
    let command = format!("omx runs resume {} --decide work=rerun", repository.id());
    assert!(asked.stdout.contains(&command), "{asked:#?}");
    let shown = repository.project.omx(&["runs", "show"]);
    assert!(shown.stdout.contains(&command), "{shown:#?}");
    // Asking changes nothing.
    assert_eq!(repository.resume(&[]).code, Some(3));
    let rerun = repository.resume(&["--decide", "work=rerun"]);
    assert_eq!(rerun.code, Some(0), "{rerun:#?}");
    assert_eq!(on_branch(&repository, "work.txt"), "half\n");
}

#[test]
fn trust_5_1b_a_conversation_that_is_gone_begins_again_in_an_untouched_workspace() {
    let repository = killed("");
    for record in records(&repository) {
        fs::remove_file(record).unwrap();
    }
    let resumed = repository.resume(&[]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    assert!(resumed.stdout.contains("work begins again"), "{resumed:#?}");
}

//! Runs complete in either dialect, and with a state folder elsewhere.

use std::fs;
use std::path::Path;

use omx_testkit::CommandOutcome;

use super::kit::Repository;

/// A run of this mode that completes.
fn repository(mode: &str) -> Repository {
    if mode == "autopilot" {
        return Repository::new();
    }
    let scenario = r#"
[[entry]]
role = "executor"
do = [{ result = { summary = "built it", changed_files = [], commands = [], done = true } }]

[[entry]]
do = [{ result = { passed = true, findings = [], checks = [{ name = "read", evidence = "read it" }] } }]
"#;
    let mut repository = Repository::playing(scenario);
    repository.check = "true".to_owned();
    repository
}

/// The files with this name below a folder.
fn count(folder: &Path, name: &str) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.map(|entry| {
        let is_wanted = entry.file_name() == name;
        usize::from(is_wanted) + if entry.path().is_dir() { count(&entry.path(), name) } else { 0 }
    });
    found.sum()
}

fn assert_complete(outcome: &CommandOutcome) {
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert!(outcome.stdout.contains("complete"), "{outcome:#?}");
}

#[test]
fn conductor_runs_complete_in_the_omc_dialect() {
    for mode in ["ralph", "autopilot"] {
        let repository = repository(mode);
        let outcome = repository.run(mode, &["--dialect", "omc", "greet"]);
        assert_complete(&outcome);
        let root = repository.project.root();
        assert_eq!(count(&root.join(".omc/runs"), "journal.jsonl"), 1, "{outcome:#?}");
        assert!(!root.join(".omx").exists(), "{outcome:#?}");
        assert!(!outcome.stdout.contains("omx runs"), "a hint names omx: {outcome:#?}");
    }
}

#[test]
fn conductor_runs_complete_with_a_state_folder_elsewhere() {
    for mode in ["ralph", "autopilot"] {
        let repository = repository(mode);
        let elsewhere = repository.project.folder().join("states");
        let mut command = repository.command(mode, &["greet"]);
        let outcome = command.env("OMX_STATE_DIR", &elsewhere).output().unwrap().into();
        assert_complete(&outcome);
        assert_eq!(count(&elsewhere, "journal.jsonl"), 1, "{outcome:#?}");
    }
}

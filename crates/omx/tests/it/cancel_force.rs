//! cancel.md 5: what force removes, and what it never touches.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use crate::cancel_kit::{LEGACY, MODES, cancels, plant, plant_stale};
use crate::project;

const CLEARED: &str = "All OMX modes cleared. You are free to start fresh.";

/// The rest of the state root, without the lock and omx's own record.
fn remaining_files(project: &TestProject) -> Vec<PathBuf> {
    let own = [project.root().join(".omx/state"), project.state(".lock")];
    let mut found: Vec<PathBuf> = project.bytes(".omx/state").into_keys().collect();
    found.retain(|path| !own.contains(path) && !path.starts_with(project.state(".activity")));
    found
}

fn force(project: &TestProject) -> Value {
    let answer = project.omx(&["cancel", "--force", "--json"]).ok();
    assert!(answer["message"].as_str().unwrap().ends_with(CLEARED), "{answer}");
    answer
}

#[test]
fn cancel_5_1_every_session_and_the_compatibility_scope_are_cancelled_then_cleared() {
    let project = project();
    for session in [None, Some("s1"), Some("s2")] {
        for mode in MODES {
            plant(&project, session, mode, &json!({}));
        }
    }
    plant_stale(&project, Some("s3"), "ralph");
    plant(&project, Some("s4"), "team", &json!({"active": false, "run_outcome": "finish"}));
    let answer = force(&project);
    let sessions: Vec<Value> = answer["cancelled"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["session_id"].clone())
        .collect();
    let mut wanted = vec![json!("s1"); MODES.len()];
    wanted.extend(vec![json!("s2"); MODES.len()]);
    wanted.push(json!("s3"));
    wanted.extend(vec![Value::Null; MODES.len()]);
    assert_eq!(sessions, wanted, "sessions first");
    assert_eq!(cancels(&project).len(), 3 * MODES.len() + 1);
    assert_eq!(remaining_files(&project), Vec::<PathBuf>::new());
    let removed = answer["removed"].as_array().unwrap();
    assert_eq!(removed.len(), 3 * MODES.len() + 2, "{removed:?}");
}

#[test]
fn cancel_5_1_force_and_all_are_the_same() {
    let mut answers = Vec::new();
    for flag in ["--force", "--all"] {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        plant(&project, None, "team", &json!({}));
        project.write(".omx/state/boulder.json", "{}");
        let outcome = project.omx(&["cancel", flag]);
        assert_eq!(remaining_files(&project), Vec::<PathBuf>::new());
        answers.push((outcome.code, outcome.stdout));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0].1.lines().last(), Some(CLEARED));
    for flag in ["--force", "--all"] {
        for narrowed in ["--mode=ralph", "--session-id=s1"] {
            let project = project();
            plant(&project, Some("s1"), "ralph", &json!({}));
            let before = project.bytes(".");
            let refused = project.omx(&["cancel", flag, narrowed, "--json"]);
            assert_eq!(refused.refused(), "invalid_input");
            assert_eq!(project.bytes("."), before);
        }
    }
}

#[test]
fn cancel_5_1_every_legacy_file_is_removed() {
    let names: Vec<&str> = LEGACY.split_whitespace().collect();
    assert_eq!(names.len(), 23);
    let project = project();
    for name in &names {
        let text = if name.ends_with("-state.json") { "{\"active\":false}" } else { "x" };
        project.write(&format!(".omx/state/{name}"), text);
    }
    let answer = force(&project);
    assert_eq!(remaining_files(&project), Vec::<PathBuf>::new());
    let removed: Vec<&str> =
        answer["removed"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    for name in names {
        assert!(removed.contains(&project.state(name).to_str().unwrap()), "{name}: {removed:?}");
    }
}

#[test]
fn cancel_5_1_checkpoints_and_team_are_removed_with_their_contents() {
    let project = project();
    for folder in ["checkpoints", "team"] {
        project.write(&format!(".omx/state/{folder}/a/b/c.json"), "x");
        project.write(&format!(".omx/state/{folder}/.hidden"), "x");
        fs::create_dir(project.state(folder).join("empty")).unwrap();
        // Names of any bytes.
        fs::write(project.state(folder).join(OsStr::from_bytes(b"\xff\xfe")), "x").unwrap();
        fs::create_dir(project.state(folder).join(OsStr::from_bytes(b"d\xff"))).unwrap();
        fs::write(project.state(folder).join(OsStr::from_bytes(b"d\xff/x")), "x").unwrap();
    }
    force(&project);
    assert_eq!(remaining_files(&project), Vec::<PathBuf>::new());
}

#[test]
fn cancel_5_1_empty_session_folders_are_removed_and_foreign_files_stay() {
    let project = project();
    fs::create_dir_all(project.session("empty", "")).unwrap();
    plant(&project, Some("done"), "ralph", &json!({"active": false, "run_outcome": "finish"}));
    plant(&project, Some("mine"), "ralph", &json!({}));
    let kept = project.write(".omx/state/sessions/mine/notes.md", "my own words");
    force(&project);
    let folder = project.session("mine", "");
    let wanted = [project.state("sessions"), folder.components().collect(), kept.clone()];
    assert_eq!(remaining_files(&project), wanted);
    assert_eq!(fs::read_to_string(kept).unwrap(), "my own words");
}

#[test]
fn cancel_5_2_quarantine_plans_logs_runs_worktrees_and_notes_stay() {
    let project = project();
    plant(&project, Some("s"), "ralph", &json!({}));
    let files = [
        ".omx/state/quarantine/2026-01-01T000000.000Z-s-ralph-state.json",
        ".omx/plans/prd-x.md",
        ".omx/plans/test-spec-x.md",
        ".omx/context/x-2026.md",
        ".omx/log/other.log",
        ".omx/runs/r1/journal.jsonl",
        ".omx/worktrees/t/w1/unmerged.rs",
        ".omx/notepad.md",
        ".omx/project-memory.json",
        ".omx/config.toml",
        ".omx/state/unknown.json",
        ".omx/state/my-state.json.bak",
        "src/main.rs",
        "ralph-state.json",
    ];
    for file in files {
        project.write(file, format!("content of {file}"));
    }
    project.write(".omx/log/events.jsonl", "{\"kind\":\"older\"}\n");
    force(&project);
    for file in files {
        assert_eq!(project.read(file), format!("content of {file}"));
    }
    let log = project.read(".omx/log/events.jsonl");
    assert!(log.starts_with("{\"kind\":\"older\"}\n") && log.contains("\"kind\":\"force\""));
    assert_eq!(project.read(".omx/.gitignore"), "*\n");
}

#[test]
fn cancel_5_2_unreadable_documents_are_quarantined_not_deleted() {
    let project = project();
    project.write(".omx/state/ralph-state.json", "\0\0");
    project.write(".omx/state/sessions/s/team-state.json", "{broken");
    let answer = force(&project);
    let moved = answer["quarantined"].as_array().unwrap();
    let mut content: Vec<String> =
        moved.iter().map(|item| project.read(item["path"].as_str().unwrap())).collect();
    content.sort();
    assert_eq!(content, ["\0\0", "{broken"]);
    // A second one leaves them where they are.
    let before = project.bytes(".omx/state/quarantine");
    force(&project);
    assert_eq!(project.bytes(".omx/state/quarantine"), before);
}

#[test]
fn cancel_5_2_links_are_never_followed() {
    let outside = project();
    for file in ["dir/precious", "dir/ralph-state.json", "file"] {
        outside.write(file, "{\"active\":true}");
    }
    let untouched = outside.bytes(".");
    let project = project();
    plant(&project, Some("s"), "ralph", &json!({}));
    let dir = outside.root().join("dir");
    let file = outside.root().join("file");
    let links = [
        (&dir, "checkpoints"),
        (&dir, "team"),
        (&dir, "sessions/linked"),
        (&dir, "quarantine"),
        (&file, "boulder.json"),
        (&file, "swarm.db"),
        (&file, "autopilot-state.json"),
        (&file, "sessions/s/team-state.json"),
        (&dir, "sessions/s/folder"),
    ];
    for (target, name) in links {
        symlink(target, project.state(name)).unwrap();
    }
    let answer = force(&project);
    let kept: Vec<&str> =
        answer["kept"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    for (_, name) in links {
        assert!(project.state(name).is_symlink(), "{name}");
        if !["quarantine", "sessions/s/folder"].contains(&name) {
            assert!(kept.contains(&project.state(name).to_str().unwrap()), "{name}: {kept:?}");
        }
    }
    assert!(!project.session("s", "ralph-state.json").exists());
    assert_eq!(outside.bytes("."), untouched);
}

#[test]
fn cancel_5_2_links_inside_removed_folders_are_removed_not_followed() {
    let outside = project();
    outside.write("dir/precious", "x");
    let untouched = outside.bytes(".");
    let project = project();
    for folder in ["checkpoints", "team/t"] {
        fs::create_dir_all(project.state(folder)).unwrap();
        symlink(outside.root().join("dir"), project.state(folder).join("link")).unwrap();
        symlink("/nowhere", project.state(folder).join("dangling")).unwrap();
        let pipe = project.state(folder).join("pipe");
        assert!(project.command("mkfifo").arg(pipe).status().unwrap().success());
    }
    force(&project);
    assert_eq!(remaining_files(&project), Vec::<PathBuf>::new());
    assert_eq!(outside.bytes("."), untouched);
}

#[test]
fn cancel_5_1_force_succeeds_even_if_its_record_cannot_be_written() {
    let project = project();
    plant(&project, Some("s"), "ralph", &json!({}));
    symlink("/nowhere", project.state(".activity")).unwrap();
    force(&project);
    assert!(!project.session("s", "ralph-state.json").exists());
}

#[test]
fn cancel_5_3_the_last_line_says_that_you_can_start_fresh() {
    let project = project();
    let outcome = project.omx(&["cancel", "--force"]);
    assert_eq!((outcome.code, outcome.stdout), (Some(0), format!("{CLEARED}\n")));
    assert!(!project.root().join(".omx").exists(), "nothing is made where nothing was");
    let omc = project.omx(&["cancel", "--all", "--dialect", "omc"]);
    assert_eq!(omc.stdout, "All OMC modes cleared. You are free to start fresh.\n");
    plant(&project, Some("s"), "ralph", &json!({}));
    let outcome = project.omx(&["cancel", "--force"]);
    let ralph = "Ralph cancelled. Persistent mode deactivated.";
    assert_eq!(outcome.stdout, format!("{ralph}\n{CLEARED}\n"));
    // An explicit start works at once.
    project.put(json!({"mode": "ralph", "session_id": "s", "start": true}));
}

//! Processes that omx starts for a run learn their project, dialect and session
//! from their context, and derive none of it again.

use std::fs;
use std::path::{Path, PathBuf};

use omx_testkit::CommandOutcome;
use serde_json::{Value, json};

use crate::conduct::{Repository, quick_scenario};

/// A planner that writes a document through its MCP server, and shows its environment.
fn scenario() -> String {
    let quick = quick_scenario();
    let says = "say = \"I read check.sh: it wants a greeting by name.\"";
    assert!(quick.contains(says));
    let steps = "mcp = { tool = \"state_write\", args = { mode = \"ultrawork\", active = true } }\n\
                 [[entry.do]]\nrun = { command = \"env\" }\n\
                 [[entry.do]]\nsay = \"{{output}}\"";
    quick.replacen(says, steps, 1)
}

/// Plans in a project; returns every document below its folder.
fn plan(repository: &Repository, flags: &[&str], variables: &[(&str, &str)]) -> Vec<PathBuf> {
    let mut command = repository.command("ralplan", &[flags, &["a plan"]].concat());
    let outcome = CommandOutcome::from(command.envs(variables.iter().copied()).output().unwrap());
    assert!(outcome.stdout.contains("draft: done"), "{outcome:#?}");
    let mut found = Vec::new();
    documents(&repository.project.folder(), &mut found);
    found
}

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            documents(&path, found);
        } else if path.to_string_lossy().ends_with("-state.json") {
            found.push(path);
        }
    }
}

#[test]
fn child_context_a_workers_server_writes_to_the_runs_own_tree() {
    let outside = |repository: &Repository| repository.project.folder().join("outside");
    for (flags, moved) in [
        (&[][..], false),
        (&["--dialect", "omc"], false),
        (&[], true),
        (&["--dialect", "omc"], true),
    ] {
        let repository = Repository::playing(&scenario());
        let outside = outside(&repository);
        let name = if flags.is_empty() { "OMX_STATE_DIR" } else { "OMC_STATE_DIR" };
        let variable = (name, outside.to_str().unwrap());
        let found =
            plan(&repository, flags, if moved { std::slice::from_ref(&variable) } else { &[] });
        let written = found.iter().find(|path| path.ends_with("ultrawork-state.json"));
        let written = written.unwrap_or_else(|| panic!("{flags:?} {moved}: {found:?}"));
        let tree = match (moved, flags.is_empty()) {
            (true, _) => outside,
            (false, true) => repository.project.root().join(".omx"),
            (false, false) => repository.project.root().join(".omc"),
        };
        assert!(written.starts_with(&tree), "{written:?}, not below {tree:?}");
        // Beside the documents of the run itself: its session is the worker's.
        let beside = written.with_file_name("ralplan-state.json");
        assert!(beside.exists(), "{written:?} without {beside:?}");
        for path in &found {
            assert!(path.starts_with(&tree), "{flags:?} {moved}: {path:?}");
        }
    }
}

#[test]
fn child_context_is_one_variable_of_the_dialect() {
    let repository = Repository::playing(&scenario());
    plan(&repository, &[], &[]);
    let id = repository.id();
    let events = fs::read_to_string(repository.run_folder().join("events.jsonl")).unwrap();
    let said = events.lines().filter_map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["text"].as_str().map(str::to_owned)
    });
    let environment = said.collect::<Vec<_>>().join("\n");
    let context = environment.lines().find_map(|line| line.strip_prefix("OMX_CONTEXT=")).unwrap();
    let mut context: Value = serde_json::from_str(context).unwrap();
    // The socket is there as long as the run.
    let relay = context.as_object_mut().unwrap().remove("relay").unwrap();
    assert!(relay.as_str().unwrap().ends_with("/relay"), "{relay}");
    let root = repository.project.root();
    assert_eq!(context, json!({"root": root, "dialect": "omx", "session": id, "run": id}));
}

#[test]
fn child_context_takes_precedence_over_the_environment_but_not_over_flags() {
    let repository = Repository::new();
    let other = repository.project.folder().join("other");
    fs::create_dir(&other).unwrap();
    let context = json!({"root": repository.project.root(), "dialect": "omc", "session": "s-1"});
    let context = context.to_string();
    let variables =
        [("OMX_CONTEXT", context.as_str()), ("OMX_ROOT", "/"), ("OMX_STATE_DIR", "/nowhere")];
    let write = ["state", "write", "--json", "--input", r#"{"mode":"ralph","active":true}"#];
    let written = repository.project.omx_env(&write, &variables).ok();
    let path = repository.project.root().join(".omc/state/sessions/s-1/ralph-state.json");
    assert_eq!(written["path"], path.to_str().unwrap());
    let flags = ["--root", other.to_str().unwrap(), "--dialect", "omx"];
    let written = repository.project.omx_env(&[&flags[..], &write].concat(), &variables).ok();
    let path = other.join(".omx/state/sessions/s-1/ralph-state.json");
    assert_eq!(written["path"], path.to_str().unwrap());
}

#[test]
fn a_broken_child_context_is_rejected_by_name() {
    let repository = Repository::new();
    let outcome = repository.project.omx_env(&["status"], &[("OMX_CONTEXT", "{}")]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("OMX_CONTEXT"), "{outcome:?}");
}

#[test]
fn child_context_reaches_a_run_in_the_background() {
    let repository = Repository::playing(&scenario());
    let outside = repository.project.folder().join("outside");
    let mut command = repository.command("ralplan", &["--dialect", "omc", "--detach", "a plan"]);
    let started = CommandOutcome::from(command.env("OMC_STATE_DIR", &outside).output().unwrap());
    assert_eq!(started.code, Some(0), "{started:?}");
    let mut attach = repository.project.omx_command(&["--dialect", "omc", "runs", "attach"]);
    let ended = CommandOutcome::from(attach.env("OMC_STATE_DIR", &outside).output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!repository.project.root().join(".omc/state").exists());
    assert!(!repository.project.root().join(".omx").exists());
}

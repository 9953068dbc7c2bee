//! quality.md: the hot paths are guarded by their instruction counts, because
//! these do not depend on the machine's load. The pins are in
//! `bench/instructions.json`.

use std::path::Path;

use omx_testkit::{CountedProject, InstructionCounts, PinnedCounts};

const RALPH: &str = r#"{
  "mode": "ralph",
  "active": true,
  "current_phase": "executing",
  "iteration": 1,
  "max_iterations": 50,
  "run_outcome": "continue",
  "task_description": "make the tests pass",
  "started_at": "2026-11-15T10:00:00.000Z",
  "updated_at": "2026-11-15T10:00:00.000Z",
  "session_id": "s1",
  "revision": 11,
  "linked_ultrawork": true,
  "notes": {"files": ["a.rs", "b.rs"], "ratio": 1.10}
}
"#;

const ULTRAWORK: &str = r#"{
  "mode": "ultrawork",
  "active": true,
  "current_phase": "executing",
  "iteration": 1,
  "max_iterations": 50,
  "run_outcome": "continue",
  "started_at": "2026-11-15T10:00:00.000Z",
  "updated_at": "2026-11-15T10:00:00.000Z",
  "session_id": "s1",
  "revision": 11,
  "linked_to_ralph": true
}
"#;

const COMMANDS: [(&str, &[&str]); 3] = [
    ("state read", &["state", "read", "--mode", "ralph", "--session-id", "s1", "--json"]),
    (
        "state write",
        &[
            "state",
            "write",
            "--input",
            r#"{"mode":"ralph","session_id":"s1","iteration":2,"task_description":"make all tests pass"}"#,
            "--json",
        ],
    ),
    ("cancel", &["cancel", "--session-id", "s1", "--json"]),
];

/// A host's events: name, event, more fields, and whether ralph is active.
const EVENTS: [(&str, &str, &str, Ralph); 5] = [
    ("hook PreToolUse, idle", "PreToolUse", TOOL, Ralph::Absent),
    ("hook PostToolUse, ralph active", "PostToolUse", TOOL, Ralph::Active),
    ("hook Stop, held", "Stop", r#""last_assistant_message":"done""#, Ralph::Active),
    ("hook prompt, nothing", "UserPromptSubmit", r#""prompt":"mend the parser""#, Ralph::Absent),
    ("hook prompt, start", "UserPromptSubmit", r#""prompt":"$ralph mend it""#, Ralph::Absent),
];

const TOOL: &str = r#""tool_name":"Bash","tool_input":{"command":"cargo test"}"#;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ralph {
    Absent,
    Active,
}

fn hook_counts(project: &CountedProject, counts: &mut InstructionCounts) {
    let session = project.root().join(".omx/state/sessions/s1");
    for (name, event, more, ralph) in EVENTS {
        // A session that was in use, and nothing of it left.
        let _ = std::fs::remove_dir_all(&session);
        let _ = std::fs::remove_dir_all(project.root().join(".omx/state/.activity"));
        project.write(".omx/state/sessions/s1/team-state.json", r#"{"active":false}"#);
        if ralph == Ralph::Active {
            let now = jiff::Timestamp::now().to_string();
            let document = RALPH.replace("2026-11-15T10:00:00.000Z", &now[..23]);
            let document = document.replace(&now[..23], &format!("{}Z", &now[..23]));
            project.write(".omx/state/sessions/s1/ralph-state.json", &document);
            let seen = format!(r#"{{"last_seen":"{}Z"}}"#, &now[..23]);
            project.write(".omx/state/.activity/s1.json", &seen);
        }
        let payload = format!(
            r#"{{"session_id":"s1","cwd":{:?},"hook_event_name":"{event}","model":"m",{more}}}"#,
            project.root()
        );
        let args = ["hook", "--host", "codex"];
        counts.insert(name.to_owned(), project.instructions_reading(&args, &payload));
    }
}

#[test]
fn quality_1_the_hot_paths_take_no_more_instructions_than_pinned() {
    let project = CountedProject::new();
    // Folders, lock and log are there, as in any project that is in use.
    project.run(&["state", "write", "--mode", "team", "--input", r#"{"active":false}"#]);
    let mut counts = InstructionCounts::new();
    for (name, args) in COMMANDS {
        project.write(".omx/state/sessions/s1/ralph-state.json", RALPH);
        project.write(".omx/state/sessions/s1/ultrawork-state.json", ULTRAWORK);
        counts.insert(name.to_owned(), project.instructions(args));
    }
    hook_counts(&project, &mut counts);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/instructions.json");
    let pins = PinnedCounts::read(&file);
    if std::env::var_os("PIN_INSTRUCTIONS").is_some() {
        pins.write(&counts);
        return;
    }
    // A hook answers after a second with whatever it has, and on a busy machine counting
    // alone takes that long.
    for _ in 0..4 {
        if !pins.violations(&counts).iter().any(|complaint| complaint.contains("hook")) {
            break;
        }
        hook_counts(&project, &mut counts);
    }
    let complaints = pins.violations(&counts);
    assert!(
        complaints.is_empty(),
        "{}\nIf that is meant, pin it anew: PIN_INSTRUCTIONS=1 cargo test -p omx --test it instructions",
        complaints.join("\n")
    );
}

//! Text of others never reaches a terminal as it is (trust.md 6.2): every command that
//! shows something, fed with hostile text in every field it can come from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::{Value, json};

use crate::conduct::{Repository, quick_scenario};
use crate::project;

/// Escape sequences with seven and eight bits, a bell, a carriage return, bidirectional
/// controls, and a line of its own.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{7f}\ry\u{202e}z\u{2066}\nFORGED line";

/// A file name with the same, where a file system takes it.
const HOSTILE_NAME: &str = "x\u{1b}[2J\u{9b}31m\ry\u{202e}z\nFORGED";

#[track_caller]
fn assert_harmless(what: &str, outcome: &CommandOutcome) {
    for text in [&outcome.stdout, &outcome.stderr] {
        // The testkit reads bytes lossily; a lone C1 byte would not be UTF-8.
        let is_bad = |c: char| {
            (c.is_control() && c != '\n')
                || ('\u{202a}'..='\u{202e}').contains(&c)
                || ('\u{2066}'..='\u{2069}').contains(&c)
                || c == char::REPLACEMENT_CHARACTER
        };
        let bad: Vec<char> = text.chars().filter(|c| is_bad(*c)).collect();
        assert!(bad.is_empty(), "{what} printed {bad:?}: {text:?}");
        let forged = text.lines().find(|line| line.starts_with("FORGED"));
        assert_eq!(forged, None, "{what}");
    }
}

/// Runs each command, and asserts that what it prints is harmless. Returns what all of
/// them printed.
#[track_caller]
fn assert_all(project: &TestProject, commands: &[&[&str]]) -> String {
    let mut all = String::new();
    for args in commands {
        let outcome = project.omx(args);
        assert!(outcome.code.is_some(), "{args:?}: {outcome:?}");
        assert_harmless(&args.join(" "), &outcome);
        all += &outcome.stdout;
        all += &outcome.stderr;
    }
    all
}

const RUN_COMMANDS: &[&[&str]] = &[
    &["runs"],
    &["runs", "--json"],
    &["runs", "show"],
    &["runs", "show", "--json"],
    &["runs", "attach"],
    &["runs", "attach", "--json"],
    &["runs", "gc"],
    &["runs", "gc", "--json"],
    &["runs", "integrate"],
    &["ps"],
    &["status"],
    &["doctor"],
];

/// Every place of a string in a value.
fn strings(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::String(_) => found.push(at.to_owned()),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                strings(item, &format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                strings(field, &format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// The value, once for each of its strings, with hostile text in that place.
fn attacked(value: &Value) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    strings(value, "", &mut places);
    let attack = |at: String| {
        let mut value = value.clone();
        *value.pointer_mut(&at).unwrap() = json!(HOSTILE);
        (at, value)
    };
    places.into_iter().map(attack).collect()
}

/// A run that has ended.
fn ended_run() -> Repository {
    let repository = Repository::playing(&quick_scenario());
    let outcome = repository.run("ralplan", &[HOSTILE]);
    assert_harmless("ralplan", &outcome);
    assert!(outcome.stdout.contains("complete: "), "{outcome:#?}");
    repository
}

#[test]
fn trust_6_2_a_run_with_a_hostile_task_or_spec_is_shown_escaped() {
    let repository = ended_run();
    let shown = assert_all(&repository.project, RUN_COMMANDS);
    assert!(shown.contains(r"x\u{1b}[2J\u{1b}]0;t\u{7}\u{9b}31m\u{7f}\u{d}y\u{202e}z"), "{shown}");
    let spec = repository.run_folder().join("run.json");
    let original = fs::read_to_string(&spec).unwrap();
    for (at, value) in attacked(&serde_json::from_str(&original).unwrap()) {
        fs::write(&spec, value.to_string()).unwrap();
        let shown = assert_all(&repository.project, &RUN_COMMANDS[..4]);
        assert!(!shown.is_empty(), "{at}");
    }
    fs::write(&spec, original).unwrap();
}

#[test]
fn trust_6_2_a_hostile_journal_and_hostile_events_are_shown_escaped() {
    let repository = ended_run();
    for (name, commands) in
        [("journal.jsonl", &RUN_COMMANDS[..4]), ("events.jsonl", &RUN_COMMANDS[4..6])]
    {
        let path = repository.run_folder().join(name);
        let original = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> =
            original.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let mut kinds = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            // One record of each kind is enough.
            let record = line.get("record").unwrap_or(line);
            let kind = [&record["kind"], &record["event"]].map(|kind| kind.as_str());
            if kinds.contains(&kind) {
                continue;
            }
            kinds.push(kind);
            for (at, value) in attacked(line) {
                let mut changed: Vec<String> = lines.iter().map(Value::to_string).collect();
                changed[index] = value.to_string();
                fs::write(&path, changed.join("\n") + "\n").unwrap();
                let shown = assert_all(&repository.project, commands);
                assert!(!shown.is_empty(), "{name} {index}{at}");
            }
        }
        fs::write(&path, original).unwrap();
    }
}

#[test]
fn trust_6_2_a_live_run_and_its_questions_are_shown_escaped() {
    let says = "say = \"I read check.sh: it wants a greeting by name.\"";
    let slow = quick_scenario().replacen(says, "delay_ms = 60000", 1);
    let repository = Repository::playing(&slow);
    let mut run = repository.start("ralplan", &[HOSTILE]);
    repository.await_records(2);
    let needs = repository.run_folder().join("needs");
    fs::create_dir_all(&needs).unwrap();
    let question = json!({
        "number": 1, "step": HOSTILE, "what": HOSTILE, "ask": {}, "pid": run.0.id(),
    });
    fs::write(needs.join("1.json"), question.to_string()).unwrap();
    let commands: &[&[&str]] = &[
        &["runs"],
        &["runs", "--json"],
        &["runs", "show"],
        &["ps"],
        &["ps", "--json"],
        &["status"],
    ];
    let shown = assert_all(&repository.project, commands);
    assert!(shown.contains("needs you: allow x\\u{1b}[2J"), "{shown}");
    let id = repository.id();
    let answered = repository.project.omx(&["runs", "answer", &id, "no"]);
    assert_harmless("runs answer", &answered);
    assert!(answered.stdout.contains("Answered no: x"), "{answered:?}");
    let cancelled = repository.project.omx(&["cancel", "--session-id", &id]);
    assert_harmless("cancel", &cancelled);
    run.code();
}

#[test]
fn trust_6_2_documents_are_shown_escaped() {
    let project = project();
    for mode in ["ralph", "autopilot", "team"] {
        let input = json!({"mode": mode, "active": true, "task_description": HOSTILE});
        project.state_op("write", &input);
    }
    let path = project.state("ralph-state.json");
    let original = fs::read_to_string(&path).unwrap();
    for (_, value) in attacked(&serde_json::from_str(&original).unwrap()) {
        fs::write(&path, value.to_string()).unwrap();
        let commands: &[&[&str]] = &[
            &["status"],
            &["status", "--json"],
            &["hud"],
            &["hud", "--json"],
            &["state", "read", "--mode", "ralph"],
            &["state", "read", "--mode", "ralph", "--json"],
            &["state", "list-active"],
            &["state", "get-status"],
            &["doctor"],
        ];
        assert_all(&project, commands);
    }
    fs::write(&path, original).unwrap();
    fs::write(project.state("pipeline-state.json"), HOSTILE).unwrap();
    fs::create_dir_all(project.state("sessions").join(HOSTILE_NAME)).unwrap();
    assert_all(&project, &[&["status"], &["doctor"], &["cancel"], &["cancel", "--force"]]);
}

#[test]
fn trust_6_2_configuration_is_shown_escaped() {
    let project = project();
    let commands: &[&[&str]] = &[
        &["config", "list"],
        &["config", "list", "--show-origin"],
        &["config", "list", "--json"],
        &["config", "get", "check"],
        &["config", "get", "check", "--show-origin"],
        &["config", "path"],
        &["doctor"],
    ];
    for config in [
        json!({"check": HOSTILE}),
        json!({"check": "true", "tiers": {"codex": {"low": HOSTILE}}}),
        json!({HOSTILE: "value"}),
        json!({"agent": HOSTILE}),
    ] {
        project.write(".omx-config.json", config.to_string());
        assert_all(&project, commands);
    }
}

#[test]
fn trust_6_2_roles_skills_and_branches_are_shown_escaped() {
    let project = project();
    project.git();
    let text = HOSTILE.replace('\n', " ");
    let role = format!("---\nname: tester\ndescription: {text}\ntier: low\n---\n\n{text}\n");
    project.write(".omx/roles/tester.md", role);
    let skill = format!("---\nname: ship\ndescription: {text}\n---\n\n{text}\n");
    project.write(".omx/skills/ship/SKILL.md", skill);
    fs::write(project.root().join(".git/HEAD"), format!("ref: refs/heads/{text}\n")).unwrap();
    let commands: &[&[&str]] = &[
        &["list", "roles"],
        &["list", "skills"],
        &["list", "roles", "--json"],
        &["list", "show", "skill:ship"],
        &["list", "show", "role:tester"],
        &["hud"],
        &["hud", "--json"],
        &["doctor"],
    ];
    assert_all(&project, commands);
}

#[test]
fn trust_6_2_folders_with_hostile_names_are_shown_escaped() {
    let project = project();
    let root = project.root().join(HOSTILE_NAME);
    fs::create_dir(&root).unwrap();
    let here = |args: &[&str]| {
        let mut command: Command = project.omx_command(args);
        CommandOutcome::from(command.current_dir(&root).output().unwrap())
    };
    let input = json!({"mode": "ralph", "active": true, "task_description": "t"}).to_string();
    for args in [
        &["state", "write", "--input", &input][..],
        &["status"],
        &["status", "--json"],
        &["hud"],
        &["doctor"],
        &["config", "path"],
        &["config", "set", "--project", "check", HOSTILE],
        &["runs"],
        &["runs", "show"],
        &["ralph", "--agent", "codex", "t"],
        &["setup", "--scope", "project", "--host", "codex", "--dry-run"],
        &["setup", "--scope", "project", "--host", "codex"],
        &["uninstall", "--scope", "project"],
        &["cancel"],
    ] {
        assert_harmless(&args.join(" "), &here(args));
    }
}

#[test]
fn trust_6_2_a_terminal_gets_only_the_colors_of_omx() {
    let says = "say = \"I read check.sh: it wants a greeting by name.\"";
    let toml = |text: &str| {
        let escape = |c: char| match c {
            ' '..='~' if c != '"' && c != '\\' => c.to_string(),
            c => format!("\\u{:04x}", u32::from(c)),
        };
        text.chars().map(escape).collect::<String>()
    };
    let steps = format!("say = \"{}\"\n[[entry.do]]\ndelay_ms = 500", toml(HOSTILE));
    let repository = Repository::playing(&quick_scenario().replacen(says, &steps, 1));
    let command = repository.command("ralplan", &[HOSTILE]);
    let args: Vec<&str> = command.get_args().map(|word| word.to_str().unwrap()).collect();
    let mut outcome = repository.project.on_terminal_with(&[], &args, "", || {});
    assert!(outcome.stdout.contains("complete: "), "{outcome:#?}");
    assert!(outcome.stdout.contains(r"x\u{1b}[2J"), "{outcome:#?}");
    for ours in ["\u{1b}[1A\u{1b}[2K", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[2m", "\u{1b}[0m"] {
        outcome.stdout = outcome.stdout.replace(ours, "");
    }
    assert_harmless("ralplan on a terminal", &outcome);
}

/// Places in the binary that write to standard output or standard error by themselves.
#[test]
fn trust_6_2_one_place_writes_to_the_terminal() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files: Vec<PathBuf> = vec![source.clone()];
    let mut found = Vec::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let writes = |line: &&str| {
            ["print!(", "println!(", "stdout().lock()", "stderr().lock()"]
                .iter()
                .any(|word| line.contains(word))
        };
        if text.lines().any(|line| writes(&line)) {
            found.push(path.strip_prefix(&source).unwrap().to_str().unwrap().to_owned());
        }
    }
    found.sort();
    // A hook's answer is JSON for the host, and the relay speaks MCP with an agent.
    assert_eq!(found, ["commands/hook.rs", "output.rs", "relay.rs"]);
}

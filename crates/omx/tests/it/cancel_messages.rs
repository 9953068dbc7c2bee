//! cancel.md 6: the messages, in both dialects, on a terminal and in a pipe.

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::{Value, json};

use crate::cancel_kit::{MODES, plant};
use crate::project;

/// A project with these documents in session `s`, in the tree of a dialect.
fn planted(dialect: &str, documents: &[(&str, Value)]) -> TestProject {
    let project = project();
    for (mode, more) in documents {
        plant(&project, Some("s"), mode, more);
    }
    if dialect == "omc" && !documents.is_empty() {
        std::fs::rename(project.root().join(".omx"), project.root().join(".omc")).unwrap();
    }
    project
}

/// The lines of a cancel, in a pipe and on a terminal.
fn both(dialect: &str, documents: &[(&str, Value)], args: &[&str]) -> [CommandOutcome; 2] {
    let args = [&["cancel", "--dialect", dialect], args].concat();
    [planted(dialect, documents).omx(&args), planted(dialect, documents).on_terminal(&args, "")]
}

#[track_caller]
fn check(dialect: &str, documents: &[(&str, Value)], piped: &str, on_terminal: &str) {
    let [pipe, terminal] = both(dialect, documents, &[]);
    assert_eq!((pipe.code, pipe.stdout.as_str(), pipe.stderr.as_str()), (Some(0), piped, ""));
    assert_eq!((terminal.code, terminal.stdout.as_str()), (Some(0), on_terminal));
}

#[test]
fn cancel_6_every_mode_has_its_line_in_both_dialects() {
    let table = [
        ("ralph", "Ralph cancelled. Persistent mode deactivated."),
        ("ultrawork", "Ultrawork cancelled. Parallel execution mode deactivated."),
        ("ecomode", "Ecomode cancelled. Token-efficient execution mode deactivated."),
        ("ultraqa", "UltraQA cancelled. QA cycling workflow stopped."),
        ("swarm", "Swarm cancelled. Coordinated agents stopped."),
        ("ultrapilot", "Ultrapilot cancelled. Parallel autopilot workers stopped."),
        ("pipeline", "Pipeline cancelled. Sequential agent chain stopped."),
        ("team", "Team ended. No teammate was running."),
        ("ralplan", "Plan Consensus cancelled. Planning session ended."),
        ("code-review", "Code review cancelled. No verdict recorded."),
    ];
    for dialect in ["omx", "omc"] {
        for (mode, line) in table {
            let wanted = format!("{line}\n");
            check(dialect, &[(mode, json!({}))], &wanted, &wanted);
        }
    }
}

#[test]
fn cancel_6_autopilot_names_its_phase_and_how_to_resume() {
    let table = [("omx", "/autopilot"), ("omc", "/oh-my-claudecode:autopilot")];
    for (dialect, command) in table {
        for phase in ["ralplan", "ralph", "code-review"] {
            let piped = format!(
                "Autopilot cancelled at phase: {phase}. Progress preserved for resume.\nRun {command} to resume.\n"
            );
            let documents = [("autopilot", json!({"current_phase": phase}))];
            check(dialect, &documents, &piped, &piped);
        }
    }
}

#[test]
fn cancel_6_linked_modes_are_listed_before_their_parent() {
    let documents = [
        ("autopilot", json!({})),
        ("ralph", json!({"linked_to": "autopilot", "linked_team": true})),
        ("ultrawork", json!({"linked_to_ralph": true})),
        ("ecomode", json!({"linked_to_ralph": true})),
        ("team", json!({})),
        ("ultraqa", json!({"linked_to": "autopilot"})),
    ];
    for dialect in ["omx", "omc"] {
        let [pipe, _] = both(dialect, &documents, &[]);
        let lines: Vec<&str> = pipe.stdout.lines().collect();
        let wanted = [
            "Cleaned up: team (linked to ralph)",
            "Cleaned up: ultrawork (linked to ralph)",
            "Cleaned up: ecomode (linked to ralph)",
            "Cleaned up: ralph (linked to autopilot)",
            "Cleaned up: ultraqa (linked to autopilot)",
            "Autopilot cancelled at phase: ralph. Progress preserved for resume.",
        ];
        assert_eq!(lines[..wanted.len()], wanted);
        assert_eq!(lines.len(), wanted.len() + 1);
    }
}

#[test]
fn cancel_6_refusing_a_linked_mode_names_the_dialects_command() {
    let table = [("omx", "/cancel"), ("omc", "/oh-my-claudecode:cancel")];
    for (dialect, command) in table {
        let documents = [("ralph", json!({"linked_ultrawork": true})), ("ultrawork", json!({}))];
        let sentence = format!(
            "error: Ultrawork is linked to Ralph. Use {command} to cancel both. [linked_mode]\n"
        );
        let [pipe, terminal] = both(dialect, &documents, &["--mode", "ultrawork"]);
        assert_eq!(
            (pipe.code, pipe.stdout, pipe.stderr),
            (Some(1), String::new(), sentence.clone())
        );
        assert_eq!((terminal.code, terminal.stdout), (Some(1), sentence));
    }
}

/// The message when nothing is active, for documents in this folder.
fn nothing(label: &str, folder: &str, modes: &[&str]) -> String {
    let title = |mode: &str| match mode {
        "ultraqa" => "UltraQA".to_owned(),
        "ralplan" => "Plan Consensus".to_owned(),
        "code-review" => "Code review".to_owned(),
        mode => mode[..1].to_uppercase() + &mode[1..],
    };
    let list: String = modes
        .iter()
        .map(|mode| format!(" - {} ({folder}/{mode}-state.json)\n", title(mode)))
        .collect();
    format!(
        "No active {label} modes detected.\n\nChecked for:\n{list}\nUse --force to clear all state files anyway.\n"
    )
}

#[test]
fn cancel_6_nothing_active_lists_what_was_checked() {
    for (dialect, label) in [("omx", "OMX"), ("omc", "OMC")] {
        let state = format!(".{dialect}/state");
        let wanted = nothing(label, &state, &MODES);
        check(dialect, &[], &wanted, &wanted);
        let own = [("CLAUDE_CODE_SESSION_ID", "s")];
        let pipe = project().omx_env(&["--dialect", dialect, "cancel"], &own);
        assert_eq!(pipe.stdout, nothing(label, &format!("{state}/sessions/s"), &MODES));
        let [pipe, _] = both(dialect, &[], &["--mode", "ralplan"]);
        assert_eq!(pipe.stdout, nothing(label, &state, &["ralplan"]));
        let [pipe, _] = both(dialect, &[], &["--every-session"]);
        let everywhere =
            format!(" - Ralph ({state}/sessions/*/ralph-state.json, {state}/ralph-state.json)\n");
        assert!(pipe.stdout.starts_with(&format!("No active {label} modes detected.\n\n")));
        assert!(pipe.stdout.contains(&everywhere), "{}", pipe.stdout);
        assert!(pipe.stdout.ends_with("\nUse --force to clear all state files anyway.\n"));
    }
    let project = planted("omx", &[]);
    project.omx(&["cancel"]);
    assert!(!project.root().join(".omx").exists(), "looking makes nothing");
}

#[test]
fn cancel_6_force_ends_with_its_sentence_in_both_dialects() {
    for (dialect, label) in [("omx", "OMX"), ("omc", "OMC")] {
        let [pipe, terminal] = both(dialect, &[("ralph", json!({}))], &["--force"]);
        let wanted = format!(
            "Ralph cancelled. Persistent mode deactivated.\nAll {label} modes cleared. You are free to start fresh.\n"
        );
        assert_eq!((pipe.code, pipe.stdout), (Some(0), wanted.clone()));
        assert_eq!((terminal.code, terminal.stdout), (Some(0), wanted));
    }
}

#[test]
fn cancel_6_json_is_one_line_with_exactly_these_fields() {
    let documents = [
        ("autopilot", json!({})),
        ("ralph", json!({"linked_to": "autopilot"})),
        ("swarm", json!({"current_phase": null})),
    ];
    let outcome = planted("omx", &documents).omx(&["cancel", "--json"]);
    let message = "Cleaned up: ralph (linked to autopilot)\\n\
        Autopilot cancelled at phase: ralph. Progress preserved for resume.\\n\
        Run /autopilot to resume.\\nSwarm cancelled. Coordinated agents stopped.";
    let entry = |mode: &str, phase: &str, linked: &str, preserved: bool| {
        format!(
            r#"{{"mode":"{mode}","session_id":"s","phase":{phase},"linked_to":{linked},"preserved":{preserved}}}"#
        )
    };
    let wanted = format!(
        "{{\"cancelled\":[{},{},{}],\"teams\":[],\"quarantined\":[],\"message\":\"{message}\"}}\n",
        entry("ralph", r#""executing""#, r#""autopilot""#, false),
        entry("autopilot", r#""ralph""#, "null", true),
        entry("swarm", "null", "null", false),
    );
    assert_eq!((outcome.code, outcome.stdout, outcome.stderr), (Some(0), wanted, String::new()));
}

#[test]
fn cancel_6_json_of_nothing_and_outside_sessions() {
    let empty = project();
    let outcome = empty.omx(&["cancel", "--json"]);
    assert_eq!(outcome.stdout.lines().count(), 1);
    let answer = outcome.ok();
    assert_eq!((&answer["cancelled"], &answer["teams"]), (&json!([]), &json!([])));
    let message = answer["message"].as_str().unwrap().to_owned() + "\n";
    assert_eq!(message, nothing("OMX", ".omx/state", &MODES));
    let project = project();
    plant(&project, None, "ralph", &json!({}));
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"][0]["session_id"], Value::Null);
}

#[test]
fn cancel_6_wrong_usage_is_exit_2_and_a_refusal_exit_1() {
    let project = project();
    for args in [&["cancel", "ralph", "extra"][..], &["cancel", "--mode"], &["cancel", "--nope"]] {
        let outcome = project.omx(args);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(outcome.stderr.contains("Usage: omx cancel"), "{outcome:?}");
    }
    for args in [&["cancel", "--mode", "nope"][..], &["cancel", "--session-id", ""]] {
        let outcome = project.omx(args);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
    }
}

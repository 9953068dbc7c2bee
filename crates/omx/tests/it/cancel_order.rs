//! cancel.md 2: in which order modes end, and which depend on which.

use std::fs;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use crate::cancel_kit::{MODES, all_but, cancels, is_active, path, plant, stored};
use crate::project;

type Entry<'a> = (&'a str, Option<&'a str>);
/// Documents, and how they end.
type Row<'a> = (Vec<(&'a str, Value)>, Vec<Entry<'a>>);

/// Plants documents of session `s`: the mode, and its fields besides `active`.
fn planted(documents: &[(&str, Value)]) -> TestProject {
    let project = project();
    for (mode, more) in documents {
        plant(&project, Some("s"), mode, more);
    }
    project
}

/// Checks a cancel: the answer, the log and the documents agree.
#[track_caller]
fn check(project: &TestProject, args: &[&str], wanted: &[Entry<'_>]) -> Value {
    let changed: Vec<String> = wanted.iter().map(|(mode, _)| path(Some("s"), mode)).collect();
    let before = all_but(project, &changed);
    let answer = project.omx(&[&["cancel", "--json"], args].concat()).ok();
    let entries = answer["cancelled"].as_array().unwrap();
    let reported: Vec<Entry<'_>> = entries
        .iter()
        .map(|entry| (entry["mode"].as_str().unwrap(), entry["linked_to"].as_str()))
        .collect();
    assert_eq!(reported, wanted);
    let logged = cancels(project);
    let logged: Vec<Entry<'_>> = logged
        .iter()
        .map(|(mode, linked, session)| {
            assert_eq!(session.as_deref(), Some("s"));
            (mode.as_str(), linked.as_deref())
        })
        .collect();
    assert_eq!(logged, wanted, "the order of the writes");
    for (mode, _) in wanted {
        assert!(!is_active(project, Some("s"), mode), "{mode}");
    }
    assert_eq!(all_but(project, &changed), before, "nothing else changes");
    answer
}

#[test]
fn cancel_2_1_all_active_modes_end_in_this_order() {
    let project = planted(&MODES.map(|mode| (mode, json!({}))));
    let wanted = MODES.map(|mode| (mode, None));
    let answer = check(&project, &[], &wanted);
    let lines: Vec<&str> = answer["message"].as_str().unwrap().lines().collect();
    assert_eq!(lines.len(), MODES.len() + 1, "each has its line, autopilot two: {lines:?}");
}

#[test]
fn cancel_2_1_the_order_does_not_depend_on_when_a_mode_started() {
    let project = project();
    for mode in ["code-review", "ultrawork", "ralph"] {
        project.put(json!({"mode": mode, "active": true, "session_id": "s"}));
    }
    check(&project, &[], &[("ralph", None), ("ultrawork", None), ("code-review", None)]);
}

#[test]
fn cancel_2_1_linked_modes_end_with_and_before_their_parent() {
    let by_autopilot = || json!({"linked_to": "autopilot"});
    let none = || json!({});
    let table: Vec<Row<'_>> = vec![
        (
            ["autopilot", "ralph", "ultraqa", "ultrawork", "ecomode", "ralplan", "code-review"]
                .map(|mode| (mode, if mode == "autopilot" { none() } else { by_autopilot() }))
                .to_vec(),
            vec![
                ("ralph", Some("autopilot")),
                ("ultraqa", Some("autopilot")),
                ("ultrawork", Some("autopilot")),
                ("ecomode", Some("autopilot")),
                ("ralplan", Some("autopilot")),
                ("code-review", Some("autopilot")),
                ("autopilot", None),
            ],
        ),
        (
            vec![
                ("autopilot", none()),
                ("ralph", by_autopilot()),
                ("ultrawork", json!({"linked_to_ralph": true})),
                ("ecomode", json!({"linked_to_ralph": true, "linked_to": "autopilot"})),
                ("ultraqa", none()),
            ],
            vec![
                ("ultrawork", Some("ralph")),
                ("ecomode", Some("ralph")),
                ("ralph", Some("autopilot")),
                ("autopilot", None),
                ("ultraqa", None),
            ],
        ),
        (
            vec![
                ("ralph", json!({"linked_team": true, "linked_ultrawork": true})),
                ("team", none()),
                ("ultrawork", none()),
                ("ecomode", json!({"linked_to_ralph": true})),
            ],
            vec![
                ("team", Some("ralph")),
                ("ultrawork", Some("ralph")),
                ("ecomode", Some("ralph")),
                ("ralph", None),
            ],
        ),
        (
            vec![("ralph", none()), ("ultrawork", json!({"linked_to_ralph": true}))],
            vec![("ultrawork", Some("ralph")), ("ralph", None)],
        ),
        (
            vec![("ralph", json!({"linked_ecomode": true})), ("ecomode", none())],
            vec![("ecomode", Some("ralph")), ("ralph", None)],
        ),
        (
            vec![("ralph", none()), ("team", json!({"linked_ralph": true}))],
            vec![("team", Some("ralph")), ("ralph", None)],
        ),
        // Linked to something that is not active: a separate entry.
        (
            vec![
                (
                    "ralph",
                    json!({"active": false, "run_outcome": "finish", "linked_ultrawork": true}),
                ),
                ("ultrawork", json!({"linked_to_ralph": true})),
                ("ultraqa", by_autopilot()),
            ],
            vec![("ultrawork", None), ("ultraqa", None)],
        ),
        // A dependent that has ended is not written again.
        (
            vec![
                ("ralph", json!({"linked_ultrawork": true})),
                ("ultrawork", json!({"active": false, "run_outcome": "finish"})),
            ],
            vec![("ralph", None)],
        ),
        // Links with another value, or false, do not count.
        (
            vec![
                ("autopilot", none()),
                ("ralph", json!({"linked_to": "pipeline", "linked_team": false})),
                ("team", json!({"linked_ralph": false})),
                ("swarm", by_autopilot()),
            ],
            vec![("autopilot", None), ("ralph", None), ("swarm", None), ("team", None)],
        ),
    ];
    for (documents, wanted) in table {
        check(&planted(&documents), &[], &wanted);
    }
}

#[test]
fn cancel_2_2_a_failure_in_between_leaves_the_parent_active_and_cancel_repeatable() {
    let documents = [
        ("autopilot", json!({})),
        ("ralph", json!({"linked_to": "autopilot", "linked_ultrawork": true})),
        ("ultrawork", json!({})),
    ];
    let expected_order = ["ultrawork", "ralph", "autopilot"];
    for stopped_at in 0..expected_order.len() {
        let project = planted(&documents);
        // Blocks the writer's temporary file, so this document cannot be written.
        let trap = project.session("s", &format!(".{}-state.json.tmp", expected_order[stopped_at]));
        fs::create_dir(&trap).unwrap();
        let outcome = project.omx(&["cancel", "--json"]);
        assert_eq!((outcome.code, &outcome.json()["code"]), (Some(1), &json!("io")));
        assert_eq!(outcome.json()["cancelled"].as_array().unwrap().len(), stopped_at);
        for (place, mode) in expected_order.iter().enumerate() {
            assert_eq!(is_active(&project, Some("s"), mode), place >= stopped_at, "{mode}");
        }
        fs::remove_dir(&trap).unwrap();
        project.omx(&["cancel", "--json"]).ok();
        for mode in expected_order {
            assert!(!is_active(&project, Some("s"), mode), "{mode}");
            assert_eq!(stored(&project, Some("s"), mode)["revision"], 8, "{mode} once");
        }
    }
}

#[test]
fn cancel_2_3_unlinked_companions_of_ralph_have_their_own_lines() {
    let project =
        planted(&[("ralph", json!({})), ("ultrawork", json!({})), ("ecomode", json!({}))]);
    let answer = check(&project, &[], &[("ralph", None), ("ultrawork", None), ("ecomode", None)]);
    assert_eq!(
        answer["message"],
        "Ralph cancelled. Persistent mode deactivated.\n\
         Ultrawork cancelled. Parallel execution mode deactivated.\n\
         Ecomode cancelled. Token-efficient execution mode deactivated."
    );
}

#[test]
fn cancel_2_4_a_named_mode_is_cancelled_and_nothing_else() {
    for mode in MODES {
        let project = planted(&MODES.map(|mode| (mode, json!({}))));
        check(&project, &["--mode", mode], &[(mode, None)]);
    }
    let project = planted(&MODES.map(|mode| (mode, json!({}))));
    check(&project, &["--mode", "plan-consensus"], &[("ralplan", None)]);
}

#[test]
fn cancel_2_4_a_named_mode_is_cancelled_with_its_linked_modes() {
    let documents = [
        ("autopilot", json!({})),
        ("ralph", json!({"linked_to": "autopilot", "linked_ultrawork": true})),
        ("ultrawork", json!({"linked_to_ralph": true})),
        ("ecomode", json!({})),
        ("ultraqa", json!({"linked_to": "autopilot"})),
        ("code-review", json!({})),
    ];
    check(
        &planted(&documents),
        &["--mode", "autopilot"],
        &[
            ("ultrawork", Some("ralph")),
            ("ralph", Some("autopilot")),
            ("ultraqa", Some("autopilot")),
            ("autopilot", None),
        ],
    );
    check(
        &planted(&documents),
        &["--mode", "ralph"],
        &[("ultrawork", Some("ralph")), ("ralph", None)],
    );
    check(&planted(&documents), &["--mode", "ultraqa"], &[("ultraqa", None)]);
}

#[test]
fn cancel_2_4_a_companion_linked_to_an_active_ralph_is_refused() {
    let links = [
        (json!({"linked_ultrawork": true, "linked_ecomode": true}), json!({})),
        (json!({}), json!({"linked_to_ralph": true})),
    ];
    for (ralph, companion) in links {
        for (mode, title) in [("ultrawork", "Ultrawork"), ("ecomode", "Ecomode")] {
            let project = planted(&[("ralph", ralph.clone()), (mode, companion.clone())]);
            let before = all_but(&project, &[]);
            let outcome = project.omx(&["cancel", "--mode", mode, "--json"]);
            assert_eq!(outcome.refused(), "linked_mode");
            let sentence = format!("{title} is linked to Ralph. Use /cancel to cancel both.");
            assert_eq!(outcome.json()["error"], sentence);
            let text = project.omx(&["cancel", "--mode", mode]);
            assert_eq!(text.stderr, format!("error: {sentence} [linked_mode]\n"));
            assert_eq!((text.code, text.stdout.as_str()), (Some(1), ""));
            assert_eq!(all_but(&project, &[]), before);
        }
    }
}

#[test]
fn cancel_2_4_a_companion_whose_ralph_has_ended_is_cancelled() {
    let ended = json!({"active": false, "run_outcome": "cancelled", "linked_ultrawork": true});
    let project = planted(&[("ralph", ended), ("ultrawork", json!({"linked_to_ralph": true}))]);
    check(&project, &["--mode", "ultrawork"], &[("ultrawork", None)]);
    let project =
        planted(&[("autopilot", json!({})), ("ecomode", json!({"linked_to": "autopilot"}))]);
    check(&project, &["--mode", "ecomode"], &[("ecomode", None)]);
}

#[test]
fn cancel_2_5_cancelling_either_of_a_linked_team_and_ralph_cancels_the_team_first() {
    for named in [&["--mode", "team"][..], &["--mode", "ralph"], &[]] {
        for (ralph, team) in [
            (json!({"linked_team": true, "team_name": "t"}), json!({"team_name": "t"})),
            (json!({}), json!({"linked_ralph": true})),
        ] {
            let project = planted(&[("ralph", ralph), ("team", team)]);
            check(&project, named, &[("team", Some("ralph")), ("ralph", None)]);
            let team = stored(&project, Some("s"), "team");
            let ralph = stored(&project, Some("s"), "ralph");
            assert_eq!(ralph["linked_team_terminal_phase"], "cancelled");
            assert_eq!(ralph["linked_team_terminal_at"], team["completed_at"]);
        }
    }
    let project = planted(&[("ralph", json!({})), ("team", json!({}))]);
    check(&project, &["--mode", "team"], &[("team", None)]);
    assert_eq!(stored(&project, Some("s"), "ralph")["linked_team_terminal_phase"], Value::Null);
}

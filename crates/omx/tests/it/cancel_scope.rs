//! cancel.md 1: which session a cancel is for, and that no other changes by a byte.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::cancel_kit::{MODES, all_but, is_active, path, plant, plant_stale, stored};
use crate::project;

const RALPH: &str = "Ralph cancelled. Persistent mode deactivated.\n";

#[test]
fn cancel_1_1_a_named_session_is_cancelled_and_no_other_scope_changes() {
    let project = project();
    for session in [None, Some("s1"), Some("s2"), Some("s3")] {
        for mode in MODES {
            plant(&project, session, mode, &json!({}));
        }
    }
    project.write(".omx/state/sessions/s1/notes.txt", "mine");
    project.write(".omx/state/sessions/s2/ralph-state.json", "{ \"active\" :true }\n\n");
    project.write(".omx/state/sessions/s3/team-state.json", "\0\0 broken");
    let changed: Vec<String> = MODES.iter().map(|mode| path(Some("s1"), mode)).collect();
    let before = all_but(&project, &changed);
    project.omx(&["cancel", "--session-id", "s1", "--json"]).ok();
    assert_eq!(all_but(&project, &changed), before);
    for mode in MODES {
        assert!(!is_active(&project, Some("s1"), mode), "{mode}");
    }
}

#[test]
fn cancel_1_1_the_compatibility_scope_is_not_read_for_a_named_session() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({}));
    plant(&project, None, "autopilot", &json!({}));
    project.write(".omx/state/ultrawork-state.json", "broken");
    let before = all_but(&project, &[path(Some("s1"), "ralph")]);
    let first = project.omx(&["cancel", "--session-id", "s1"]);
    assert_eq!((first.code, first.stdout.as_str()), (Some(0), RALPH));
    // What is active outside sessions does not make the session active.
    let second = project.omx(&["cancel", "--session-id", "s1"]);
    assert!(second.stdout.starts_with("No active OMX modes detected.\n"), "{second:?}");
    assert!(second.stdout.contains("(.omx/state/sessions/s1/ralph-state.json)"), "{second:?}");
    assert!(!second.stdout.contains("(.omx/state/ralph-state.json)"), "{second:?}");
    assert_eq!(all_but(&project, &[path(Some("s1"), "ralph")]), before);
}

#[test]
fn cancel_1_1_the_session_comes_from_the_flag_then_our_variable_then_the_hosts() {
    type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)], &'a str);
    let table: [Row<'_>; 4] = [
        (&["--session-id", "s1"], &[("OMX_SESSION_ID", "s2")], "s1"),
        (&[], &[("OMX_SESSION_ID", "s2"), ("CLAUDE_CODE_SESSION_ID", "s3")], "s2"),
        (&[], &[("CLAUDE_CODE_SESSION_ID", "s3")], "s3"),
        (&[], &[("OMX_SESSION_ID", ""), ("CLAUDE_CODE_SESSION_ID", "s3")], "s3"),
    ];
    for (flags, variables, wanted) in table {
        let project = project();
        for session in [None, Some("s1"), Some("s2"), Some("s3")] {
            plant(&project, session, "ralph", &json!({}));
        }
        let args = [&["cancel", "--json"], flags].concat();
        let answer = project.omx_env(&args, variables).ok();
        assert_eq!(answer["cancelled"][0]["session_id"], wanted);
        for session in ["s1", "s2", "s3"] {
            assert_eq!(is_active(&project, Some(session), "ralph"), session != wanted);
        }
        assert!(is_active(&project, None, "ralph"));
    }
    let project = project();
    plant(&project, None, "ralph", &json!({}));
    let refused = project.omx(&["cancel", "--session-id", "../x", "--json"]);
    assert_eq!(refused.refused(), "invalid_session_id");
    assert!(is_active(&project, None, "ralph"));
}

#[test]
fn cancel_1_2_nothing_active_in_any_session_means_the_compatibility_scope() {
    let project = project();
    plant(&project, None, "ralph", &json!({}));
    plant(&project, Some("s1"), "ralph", &json!({"active": false, "run_outcome": "finish"}));
    project.write(".omx/state/sessions/s2/ralph-state.json", "broken");
    let before = all_but(&project, &[path(None, "ralph")]);
    let outcome = project.omx(&["cancel"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), RALPH));
    assert_eq!(all_but(&project, &[path(None, "ralph")]), before);
}

#[test]
fn cancel_1_2_the_only_active_session_is_chosen_and_the_others_are_named() {
    let project = project();
    plant(&project, None, "ultrawork", &json!({}));
    plant(&project, Some("s1"), "ralph", &json!({"active": false, "run_outcome": "failed"}));
    plant(&project, Some("s2"), "ralph", &json!({}));
    let before = all_but(&project, &[path(Some("s2"), "ralph")]);
    let outcome = project.omx(&["cancel"]);
    let hint = "Still active outside any session: ultrawork. Cancel again to cancel that too.\n";
    assert_eq!(outcome.stdout, format!("{RALPH}{hint}"));
    assert_eq!(all_but(&project, &[path(Some("s2"), "ralph")]), before);
    // The hint is right: now nothing is active in a session.
    let again = project.omx(&["cancel"]);
    assert_eq!(again.stdout, "Ultrawork cancelled. Parallel execution mode deactivated.\n");
}

#[test]
fn cancel_1_2_several_sessions_are_listed_with_their_modes_and_nothing_changes() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({"linked_ultrawork": true}));
    plant(&project, Some("s1"), "ultrawork", &json!({}));
    plant_stale(&project, Some("s2"), "autopilot");
    plant(&project, Some("s3"), "team", &json!({"active": false, "run_outcome": "cancelled"}));
    plant(&project, None, "ralplan", &json!({}));
    project.write(".omx/state/sessions/s2/team-state.json", "broken");
    let before = project.bytes(".");
    let list = "s1 (ralph, ultrawork); s2 (autopilot)";
    let json = project.omx(&["cancel", "--json"]);
    assert_eq!(json.refused(), "ambiguous_session");
    let message = json.json()["error"].as_str().unwrap().to_owned();
    assert!(message.contains(list) && !message.contains("s3"), "{message}");
    let text = project.omx(&["cancel"]);
    assert_eq!((text.code, text.stdout.as_str()), (Some(1), ""));
    assert_eq!(text.stderr, format!("error: {message} [ambiguous_session]\n"));
    assert_eq!(project.bytes("."), before);
}

/// What `status` advises works as it is written.
#[test]
fn cancel_1_2_status_names_a_cancel_that_is_not_ambiguous() {
    let project = project();
    for session in ["s1", "s2"] {
        plant(&project, Some(session), "ralph", &json!({}));
    }
    plant(&project, None, "ultrawork", &json!({}));
    let advised = |args: &[&str]| {
        let status = project.omx(args).stdout;
        let line = status.lines().find(|line| line.starts_with("To stop")).unwrap().to_owned();
        let command = line.split_once("run omx ").unwrap().1;
        command.split([';', '.']).next().unwrap().to_owned()
    };
    for (args, session) in [(&["status"][..], "s1"), (&["status", "--session-id", "s2"], "s2")] {
        let command = advised(args);
        let outcome = project.omx(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(outcome.code, Some(0), "{command}: {outcome:?}");
        assert!(!is_active(&project, Some(session), "ralph"), "{command}");
    }
    assert_eq!(advised(&["status"]), "cancel");
}

#[test]
fn cancel_1_2_a_named_mode_is_cancelled_in_the_session_that_runs_it() {
    for by in ["what", "mode", "mcp"] {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        plant(&project, Some("s2"), "autopilot", &json!({}));
        plant(&project, Some("s3"), "autopilot", &json!({}));
        let cancel = |mode: &str| match by {
            "what" => project.omx(&["cancel", mode, "--json"]).json(),
            "mode" => project.omx(&["cancel", "--mode", mode, "--json"]).json(),
            _ => project.mcp().call("cancel", &json!({"what": mode})).1,
        };
        let answer = cancel("ralph");
        assert_eq!(answer["cancelled"][0]["session_id"], "s1", "{by}: {answer}");
        assert!(!is_active(&project, Some("s1"), "ralph"));
        assert!(is_active(&project, Some("s2"), "autopilot"));
        // Two sessions run it: then the person decides.
        let before = project.bytes(".omx/state/sessions");
        let answer = cancel("autopilot");
        assert_eq!(answer["code"], "ambiguous_session", "{by}: {answer}");
        assert!(answer["error"].as_str().unwrap().contains("s2 (autopilot); s3 (autopilot)"));
        assert_eq!(project.bytes(".omx/state/sessions"), before);
        // Nobody runs it: the others are not touched.
        assert_eq!(cancel("swarm")["cancelled"], json!([]), "{by}");
        assert_eq!(project.bytes(".omx/state/sessions"), before);
    }
}

#[test]
fn cancel_1_2_what_works_is_cancelled_before_what_waits_for_the_person() {
    let waits = json!({"active": false, "run_outcome": "blocked_on_user",
        "completed_at": "2026-11-01T00:00:00.000Z"});
    let project = project();
    plant(&project, Some("old"), "ralph", &waits);
    plant(&project, Some("now"), "autopilot", &json!({}));
    let old = project.read(path(Some("old"), "ralph"));
    let outcome = project.omx(&["cancel"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let rest = "Still waiting for you in other sessions: old (ralph). Cancel again to cancel that \
                too.\n";
    assert!(outcome.stdout.ends_with(rest), "{outcome:?}");
    assert!(!is_active(&project, Some("now"), "autopilot"));
    assert_eq!(project.read(path(Some("old"), "ralph")), old);
    let again = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(again["cancelled"][0]["session_id"], "old", "{again}");
    assert_eq!(stored(&project, Some("old"), "ralph")["run_outcome"], "cancelled");
    // Among several that wait, the person decides.
    plant(&project, Some("a"), "ralph", &waits);
    plant(&project, Some("b"), "ralph", &waits);
    assert_eq!(project.omx(&["cancel", "--json"]).refused(), "ambiguous_session");
}

#[test]
fn cancel_1_2_a_stale_session_counts_as_active() {
    let project = project();
    plant_stale(&project, Some("old"), "ralph");
    plant(&project, None, "ralph", &json!({}));
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"][0]["session_id"], "old");
    assert!(is_active(&project, None, "ralph"));
}

#[test]
fn cancel_1_2_every_session_cancels_all_and_deletes_nothing() {
    let project = project();
    let scopes = [None, Some("s1"), Some("s2")];
    for session in scopes {
        plant(&project, session, "ralph", &json!({}));
        plant(&project, session, "team", &json!({"active": false, "run_outcome": "finish"}));
    }
    for file in ["boulder.json", "swarm.db", "checkpoints/a", "team/t/config.json"] {
        project.write(&format!(".omx/state/{file}"), "kept");
    }
    let changed: Vec<String> = scopes.iter().map(|session| path(*session, "ralph")).collect();
    let before = all_but(&project, &changed);
    let answer = project.omx(&["cancel", "--every-session", "--json"]).ok();
    let found: Vec<_> = answer["cancelled"].as_array().unwrap().iter().collect();
    let sessions: Vec<_> = found.iter().map(|entry| entry["session_id"].as_str()).collect();
    assert_eq!(sessions, [Some("s1"), Some("s2"), None]);
    assert_eq!(all_but(&project, &changed), before);
    for session in scopes {
        assert_eq!(stored(&project, session, "ralph")["run_outcome"], "cancelled");
    }
    for more in ["--force", "--all", "--mode=ralph", "--session-id=s1"] {
        let refused = project.omx(&["cancel", "--every-session", more, "--json"]);
        assert_eq!(refused.refused(), "invalid_input", "{more}");
    }
}

#[test]
fn cancel_1_2_on_a_terminal_the_person_is_asked_which() {
    let question = "Modes are active in several sessions:\n  1) s1 (ralph)\n  2) s2 (ralph)\n";
    // typed, exit code, what is then active
    let table = [
        ("2\n", 0, [true, false]),
        (" 1 \n", 0, [false, true]),
        ("a\n", 0, [false, false]),
        ("\n", 1, [true, true]),
        ("0\n", 1, [true, true]),
        ("3\n", 1, [true, true]),
        ("yes\n", 1, [true, true]),
        ("\u{4}", 1, [true, true]),
    ];
    for (typed, code, active) in table {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        plant(&project, Some("s2"), "ralph", &json!({}));
        let outcome = project.on_terminal(&["cancel"], typed);
        assert_eq!(outcome.code, Some(code), "{typed:?}: {outcome:?}");
        assert!(outcome.stdout.contains(question), "{outcome:?}");
        assert!(outcome.stdout.contains("Cancel which? [1-2, a for all, Enter for none] "));
        assert_eq!(outcome.stdout.contains("[ambiguous_session]"), code == 1, "{outcome:?}");
        let left = ["s1", "s2"].map(|session| is_active(&project, Some(session), "ralph"));
        assert_eq!(left, active, "{typed:?}");
    }
}

#[test]
fn cancel_1_2_all_is_not_offered_for_one_mode_and_programs_are_not_prompted() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({}));
    plant(&project, Some("s2"), "ralph", &json!({}));
    let before = project.bytes(".");
    let outcome = project.on_terminal(&["cancel", "--mode", "ralph"], "a\n");
    assert!(outcome.stdout.contains("Cancel which? [1-2, Enter for none] "), "{outcome:?}");
    assert_eq!(outcome.code, Some(1));
    let outcome = project.on_terminal(&["cancel", "--json"], "");
    assert_eq!(outcome.refused(), "ambiguous_session");
    assert_eq!(project.bytes("."), before);
    let outcome = project.on_terminal(&["cancel", "--mode", "ralph"], "2\n");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(is_active(&project, Some("s1"), "ralph") && !is_active(&project, Some("s2"), "ralph"));
}

#[test]
fn cancel_1_4_stale_modes_are_cancelled_like_live_ones() {
    let project = project();
    for mode in MODES {
        plant_stale(&project, Some("s1"), mode);
    }
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"].as_array().unwrap().len(), MODES.len());
    for mode in MODES {
        assert!(!is_active(&project, Some("s1"), mode), "{mode}");
    }
}

#[test]
fn cancel_1_4_a_dead_owner_no_tmux_and_a_lost_pointer_stop_nothing() {
    let project = project();
    let owner = json!({"owner": {"pid": 4_194_999, "start_time": 1}, "owner_pid": 4_194_999,
        "tmux_session": "omx-team-gone", "team_name": "gone"});
    plant(&project, Some("s1"), "team", &owner);
    plant(&project, Some("s1"), "swarm", &owner);
    project.write(".omx/state/session.json", "\0{not json");
    project.write(".omx/state/current-session", "gone");
    let mut command = project.omx_command(&["cancel", "--json"]);
    let answer: omx_testkit::CommandOutcome = command.env("PATH", "").output().unwrap().into();
    assert_eq!(answer.ok()["cancelled"].as_array().unwrap().len(), 2);
    assert_eq!(project.read(".omx/state/session.json"), "\0{not json");
}

#[test]
fn cancel_1_4_an_unreadable_neighbor_is_quarantined_and_reported() {
    for broken in ["", "{", "[]", "\0\0\0\0", "{\"active\":true}x", "\u{7f}ELF"] {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        project.write(&path(Some("s1"), "autopilot"), broken);
        let answer = project.omx(&["cancel", "--json"]).ok();
        assert_eq!(answer["cancelled"][0]["mode"], "ralph");
        let moved = &answer["quarantined"][0];
        assert_eq!((&moved["mode"], &moved["session_id"]), (&json!("autopilot"), &json!("s1")));
        let to = moved["path"].as_str().unwrap();
        assert!(to.starts_with(project.state("quarantine").to_str().unwrap()), "{to}");
        assert_eq!(fs::read(to).unwrap(), broken.as_bytes());
        assert!(!project.session("s1", "autopilot-state.json").exists());
        let line = format!("Unreadable autopilot state moved to {to}");
        assert!(answer["message"].as_str().unwrap().ends_with(&line), "{answer}");
    }
}

#[test]
fn cancel_1_4_anything_but_a_file_is_left_alone_and_stops_nothing() {
    let project = project();
    plant(&project, Some("s1"), "ralph", &json!({}));
    let outside = project.write("outside.json", r#"{"active":true}"#);
    symlink(&outside, project.session("s1", "autopilot-state.json")).unwrap();
    fs::create_dir(project.session("s1", "team-state.json")).unwrap();
    let fifo = project.session("s1", "swarm-state.json");
    assert!(project.command("mkfifo").arg(&fifo).status().unwrap().success());
    let before = all_but(&project, &[path(Some("s1"), "ralph")]);
    let answer = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(answer["cancelled"].as_array().unwrap().len(), 1);
    assert_eq!(answer["unreadable"].as_array().unwrap().len(), 3);
    assert_eq!(all_but(&project, &[path(Some("s1"), "ralph")]), before);
    assert_eq!(fs::read_to_string(&outside).unwrap(), r#"{"active":true}"#);
    let named = project.omx(&["cancel", "--session-id", "s1", "--mode", "swarm", "--json"]);
    assert_eq!(named.refused(), "unsafe_path");
}

#[test]
fn cancel_1_4_anything_in_place_of_a_session_stops_nothing() {
    let elsewhere = project();
    plant(&elsewhere, None, "ralph", &json!({}));
    let untouched = elsewhere.bytes(".");
    for flags in [&["--session-id", "s1"][..], &["--every-session"], &["--force"], &[]] {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        symlink(elsewhere.state(""), project.state("sessions/link")).unwrap();
        project.write(".omx/state/sessions/file", "x");
        let outcome = project.omx(&[&["cancel"], flags].concat());
        assert!(outcome.code == Some(0) && outcome.stdout.contains(RALPH), "{outcome:?}");
        assert!(project.state("sessions/link").is_symlink());
        assert_eq!(project.read(".omx/state/sessions/file"), "x");
    }
    for flags in [&[][..], &["--every-session"], &["--force"]] {
        let project = project();
        plant(&project, None, "ralph", &json!({}));
        symlink(elsewhere.state(""), project.state("sessions")).unwrap();
        let outcome = project.omx(&[&["cancel"], flags].concat());
        assert!(outcome.code == Some(0) && outcome.stdout.contains(RALPH), "{outcome:?}");
        assert!(outcome.stdout.contains("Left alone: "), "{outcome:?}");
        assert!(project.state("sessions").is_symlink());
    }
    assert_eq!(elsewhere.bytes("."), untouched);
}

#[test]
fn cancel_1_2a_a_swarm_and_teams_belong_to_the_session_their_cards_name() {
    let project = project();
    let marker = project.write(".omx/state/swarm-active.marker", r#"{"session_id":"blue"}"#);
    for (name, session, created) in [
        ("young", "green", "2026-11-15T12:00:00Z"),
        ("old", "green", "2026-11-14T12:00:00Z"),
        ("foreign", "blue", "2026-11-13T12:00:00Z"),
    ] {
        let card = json!({"team_name":name,"session_id":session,"created_at":created});
        project.write(&format!(".omx/state/team/{name}/config.json"), card.to_string());
    }
    project.write(".omx/state/team/broken/config.json", "{");
    for (session, mode) in [("green", "team"), ("green2", "swarm"), ("blue", "swarm")] {
        project.put(json!({"mode":mode,"active":true,"session_id":session}));
    }
    let blue = project.bytes(".omx/state/sessions/blue");
    let answer = project.omx(&["cancel", "--session-id", "green", "--json"]).ok();
    let teams: Vec<&str> =
        answer["teams"].as_array().unwrap().iter().map(|t| t["team"].as_str().unwrap()).collect();
    assert_eq!(teams, ["old", "young"], "the oldest first, and no other session's");
    let message = answer["message"].as_str().unwrap();
    let place = |text: &str| message.find(text).unwrap_or_else(|| panic!("{text}: {message}"));
    assert!(place("Team \"old\" cancelled:\n- Workers signaled: 0") < place("Team \"young\""));
    assert!(place("Team \"young\"") < place("Team ended."));
    assert!(project.state("team/old/config.json").exists(), "files are left to force");
    project.omx(&["cancel", "--session-id", "green2", "--json"]).ok();
    assert!(marker.exists(), "the marker of another session's swarm");
    assert_eq!(project.bytes(".omx/state/sessions/blue"), blue);
    project.omx(&["cancel", "--session-id", "blue", "--json"]).ok();
    assert!(!marker.exists());
}

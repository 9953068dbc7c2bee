//! state.md 4.4 and 4.4a: documents that cannot be read block nothing and are
//! never lost, and a failing event log never affects an operation.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use crate::project;

/// Contents that are not documents.
const BROKEN: &[(&str, &[u8])] = &[
    ("truncated", b"{\"mode\":\"ralph\",\"active\":tr"),
    ("empty", b""),
    ("white space", b" \n\n"),
    ("NUL bytes", b"\0\0\0\0\0\0\0\0"),
    ("NUL bytes behind", b"{\"active\":true}\0\0\0"),
    ("NUL byte inside", b"{\"active\":true,\"x\":\"\0\"}"),
    ("not JSON", b"active: true\n"),
    ("an array", b"[{\"active\":true}]"),
    ("a string", b"\"active\""),
    ("a number", b"7"),
    ("null", b"null"),
    ("two objects", b"{\"active\":true}{\"active\":true}"),
    ("not UTF-8", b"{\"active\":true,\"x\":\"\xff\"}"),
    ("UTF-16", b"\xff\xfe{\0}\0"),
];

/// A project with a broken ralph beside a live ultrawork, in the scope of `session`.
fn broken(session: Option<&str>, bytes: &[u8]) -> TestProject {
    let project = project();
    project.put(json!({"mode":"ultrawork","active":true,"session_id":session}));
    fs::write(ralph(&project, session), bytes).unwrap();
    project
}

fn ralph(project: &TestProject, session: Option<&str>) -> PathBuf {
    let file = "ralph-state.json";
    session.map_or(project.state(file), |id| project.session(id, file))
}

/// The broken bytes are in quarantine under a name with time and mode.
#[track_caller]
fn assert_quarantined(project: &TestProject, answer: &Value, session: Option<&str>, bytes: &[u8]) {
    let list = answer["quarantined"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(list.len(), 1, "{answer}");
    assert_eq!(list[0]["mode"], "ralph");
    assert_eq!(list[0]["session_id"], json!(session));
    let path = PathBuf::from(list[0]["path"].as_str().unwrap());
    assert_eq!(path.parent().unwrap(), project.state("quarantine"));
    assert_eq!(fs::read(&path).unwrap(), bytes);
    let name = path.file_name().unwrap().to_str().unwrap();
    let today = jiff::Timestamp::now().to_string();
    assert!(name.starts_with(&today[..8]) && name.contains("ralph"), "{name}");
    assert!(name[8..].contains('T') && !name.contains([':', '/']), "{name}");
}

fn session_field(session: Option<&str>, mut input: Value) -> Value {
    if let Some(session) = session {
        input["session_id"] = json!(session);
    }
    input
}

#[test]
fn state_4_4_readers_move_nothing_and_name_unreadable_files() {
    for session in [None, Some("s")] {
        for (what, bytes) in BROKEN {
            let project = broken(session, bytes);
            let before = project.kept();
            let input = session_field(session, json!({"mode":"ralph"}));
            let read = project.state_op("read", &input);
            assert_eq!(read.refused(), "corrupt_state", "{what}");
            let path = ralph(&project, session);
            assert!(read.json()["error"].as_str().unwrap().contains(path.to_str().unwrap()));
            let other = session_field(session, json!({"mode":"ultrawork"}));
            assert_eq!(project.state_op("read", &other).ok()["active"], true, "{what}");
            for (operation, input) in [
                ("list-active", json!({})),
                ("get-status", json!({})),
                ("list-active", session_field(session, json!({}))),
                ("get-status", session_field(session, json!({}))),
            ] {
                let answer = project.state_op(operation, &input).ok();
                assert!(answer.to_string().contains("ultrawork"), "{what} {operation}");
                let list = answer["unreadable"].as_array().unwrap();
                assert_eq!(list.len(), 1, "{what} {operation}");
                assert_eq!(list[0]["mode"], "ralph");
                assert_eq!(list[0]["session_id"], json!(session));
                assert_eq!(list[0]["path"], path.to_str().unwrap());
                assert!(list[0]["reason"].as_str().is_some_and(|why| !why.is_empty()));
            }
            assert_eq!(project.omx(&["status", "--json"]).ok()["unreadable"][0]["mode"], "ralph");
            assert_eq!(project.kept(), before, "{what}");
        }
    }
}

#[test]
fn state_4_4_a_readable_project_reports_no_unreadable_files() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    for operation in ["list-active", "get-status"] {
        let answer = project.state_op(operation, &json!({})).ok();
        assert!(answer.get("unreadable").is_none(), "{answer}");
    }
    assert!(project.put(json!({"mode":"ralph","a":1})).get("quarantined").is_none());
}

#[test]
fn state_4_4_a_write_quarantines_an_unreadable_document_and_succeeds() {
    for session in [None, Some("s")] {
        for (what, bytes) in BROKEN {
            let project = broken(session, bytes);
            let start = session_field(session, json!({"mode":"ralph","active":true,"note":1}));
            let answer = project.put(start);
            assert_quarantined(&project, &answer, session, bytes);
            assert_eq!(
                (&answer["success"], &answer["revision"]),
                (&json!(true), &json!(1)),
                "{what}"
            );
            let document: Value =
                serde_json::from_str(&project.read(ralph(&project, session))).unwrap();
            assert_eq!(document["note"], 1, "{what}");
        }
    }
}

#[test]
fn state_4_4_a_refused_write_moves_nothing() {
    let project = broken(None, b"torn");
    let before = project.kept();
    for input in [
        json!({"mode":"ralph","active":true,"current_phase":"banana"}),
        json!({"mode":"ralph","iteration":1}),
        json!({"mode":"ralph","active":true,"expected_revision":3}),
    ] {
        assert_eq!(project.state_op("write", &input).code, Some(1), "{input}");
    }
    assert_eq!(project.kept(), before);
}

#[test]
fn state_4_4_an_unreadable_document_never_blocks_another_mode() {
    for (what, bytes) in BROKEN {
        let project = broken(None, bytes);
        let answer = project.put(json!({"mode":"ultrawork","iteration":2}));
        assert!(answer.get("quarantined").is_none(), "{what}: not its business");
        project.put(json!({"mode":"team","active":true}));
        project.state_op("clear", &json!({"mode":"ultrawork"})).ok();
        assert_eq!(fs::read(project.state("ralph-state.json")).unwrap(), *bytes, "{what}");
    }
}

#[test]
fn state_4_4_a_clear_quarantines_an_unreadable_document() {
    for session in [None, Some("s")] {
        for (what, bytes) in BROKEN {
            let project = broken(session, bytes);
            let input = session_field(session, json!({"mode":"ralph"}));
            let answer = project.state_op("clear", &input).ok();
            assert_eq!(
                (&answer["cleared"], &answer["removed"]),
                (&json!(true), &json!(0)),
                "{what}"
            );
            assert_quarantined(&project, &answer, session, bytes);
            assert!(!ralph(&project, session).exists(), "{what}");
        }
    }
    let project = broken(Some("s"), b"torn");
    let input = json!({"mode":"ralph","all_sessions":true});
    assert_quarantined(&project, &project.state_op("clear", &input).ok(), Some("s"), b"torn");
}

#[test]
fn state_4_4_a_cancel_ends_the_others_and_quarantines_an_unreadable_document() {
    for session in [None, Some("s")] {
        for (what, bytes) in BROKEN {
            for args in [&["cancel", "--json"][..], &["cancel", "--force", "--json"]] {
                let project = broken(session, bytes);
                let answer = project.omx(args).ok();
                assert_eq!(answer["cancelled"][0]["mode"], "ultrawork", "{what} {args:?}");
                assert_quarantined(&project, &answer, session, bytes);
                assert!(!ralph(&project, session).exists(), "{what} {args:?}");
                assert!(answer["message"].as_str().unwrap().contains("quarantine"), "{what}");
            }
        }
    }
    let project = broken(None, b"torn");
    let answer = project.omx(&["cancel", "--mode", "ralph", "--json"]).ok();
    assert_quarantined(&project, &answer, None, b"torn");
    assert_eq!(project.document("ultrawork")["active"], true, "only the mode that was named");
}

#[test]
fn state_4_4_nothing_in_quarantine_is_ever_overwritten_or_removed() {
    let project = project();
    for round in 0..20 {
        project.write(".omx/state/ralph-state.json", format!("torn {round}"));
        project.state_op("clear", &json!({"mode":"ralph"})).ok();
    }
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
    let folder = fs::read_dir(project.state("quarantine")).unwrap();
    let mut texts: Vec<String> =
        folder.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    texts.sort();
    let mut expected: Vec<String> = (0..20).map(|round| format!("torn {round}")).collect();
    expected.sort();
    assert_eq!(texts, expected);
}

#[test]
fn state_4_4_a_cancel_succeeds_even_without_a_quarantine() {
    for what in ["file", "link"] {
        let project = broken(None, b"torn");
        let outside = project.folder().join("outside");
        fs::create_dir(&outside).unwrap();
        match what {
            "file" => fs::write(project.state("quarantine"), "").unwrap(),
            _ => symlink(&outside, project.state("quarantine")).unwrap(),
        }
        let answer = project.omx(&["cancel", "--json"]).ok();
        assert_eq!(answer["cancelled"][0]["mode"], "ultrawork", "{what}");
        assert_eq!(answer["unreadable"][0]["mode"], "ralph", "{what}");
        let start = json!({"mode":"ralph","active":true});
        assert_eq!(project.state_op("write", &start).refused(), "unsafe_path", "{what}");
        assert_eq!(fs::read(project.state("ralph-state.json")).unwrap(), b"torn", "{what}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "{what}");
    }
}

#[test]
fn state_4_4_leftovers_of_killed_writers_are_ignored_and_removed_by_the_next() {
    let project = project();
    project.put(json!({"mode":"ultrawork","active":true}));
    let left = project.write(".omx/state/.ralph-state.json.tmp", r#"{"active":true}"#);
    let listed = project.state_op("list-active", &json!({})).ok();
    assert_eq!(listed["active_modes"], json!(["ultrawork"]));
    assert!(listed.get("unreadable").is_none() && left.exists());
    project.put(json!({"mode":"ultrawork","a":1}));
    assert!(!left.exists());
}

#[test]
fn state_4_4a_a_broken_log_never_fails_an_operation() {
    for what in ["directory", "pipe", "link", "folder is a file", "folder is a link", "read-only"] {
        let project = project();
        let outside = project.folder().join("outside");
        fs::create_dir(&outside).unwrap();
        let secret = outside.join("secret");
        fs::write(&secret, "secret\n").unwrap();
        let log = project.root().join(".omx/log/events.jsonl");
        fs::create_dir_all(log.parent().unwrap().parent().unwrap()).unwrap();
        if !what.starts_with("folder") {
            fs::create_dir(log.parent().unwrap()).unwrap();
        }
        match what {
            "directory" => fs::create_dir(&log).unwrap(),
            "pipe" => assert!(project.command("mkfifo").arg(&log).status().unwrap().success()),
            "link" => symlink(&secret, &log).unwrap(),
            "folder is a file" => fs::write(log.parent().unwrap(), "").unwrap(),
            "folder is a link" => symlink(&outside, log.parent().unwrap()).unwrap(),
            _ => {
                fs::write(&log, "").unwrap();
                let mut rights = fs::metadata(&log).unwrap().permissions();
                rights.set_readonly(true);
                fs::set_permissions(&log, rights).unwrap();
            }
        }
        let start = r#"{"mode":"ralph","active":true}"#;
        for args in [
            &["state", "write", "--json", "--input", start][..],
            &["cancel", "--json"],
            &["state", "clear", "--mode", "ralph", "--json"],
            &["cancel", "--force", "--json"],
        ] {
            let outcome = project.omx_promptly(args);
            assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{what} {args:?}");
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), "secret\n", "{what}");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{what}");
    }
}

#[test]
fn state_4_4a_a_torn_line_of_a_killed_writer_does_not_swallow_the_next() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    let path = project.root().join(".omx/log/events.jsonl");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}{}", &whole[..20])).unwrap();
    project.put(json!({"mode":"ralph","a":1}));
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    let last: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(last["data"]["revision"], 2);
}

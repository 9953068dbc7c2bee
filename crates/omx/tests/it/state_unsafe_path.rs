//! state.md 4.5: links, pipes, folders and sockets where omx's own files and
//! folders belong. All are refused at once; nothing goes through them.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use omx_testkit::{CommandOutcome, SavedTree, TestProject};
use serde_json::json;

use crate::project;

const THINGS: [&str; 6] = ["link", "dangling link", "pipe", "folder", "socket", "device link"];

/// The target of the test's links: a folder with its own live documents.
fn outside(project: &TestProject) -> PathBuf {
    let folder = project.folder().join("outside");
    let live = json!({"mode":"ralph","active":true,"current_phase":"executing"}).to_string();
    for name in ["", "state", "sessions/s", "s"] {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join("ralph-state.json"), &live).unwrap();
    }
    folder
}

/// Puts such a thing at a path. A link leads to a folder or to a file.
fn place(project: &TestProject, thing: &str, path: &Path, target: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match thing {
        "link" => symlink(target, path).unwrap(),
        "dangling link" => symlink(project.folder().join("made-by-mistake"), path).unwrap(),
        "device link" => symlink("/dev/zero", path).unwrap(),
        "pipe" => {
            let made = project.command("mkfifo").arg(path).status().expect("coreutils' mkfifo");
            assert!(made.success());
        }
        "folder" => fs::create_dir(path).unwrap(),
        "socket" => drop(UnixListener::bind(path).unwrap()),
        other => panic!("{other}"),
    }
}

fn bytes_outside(project: &TestProject) -> std::collections::BTreeMap<PathBuf, Vec<u8>> {
    project.bytes("../outside")
}

/// Runs every operation on ralph in a scope; each must end at once.
fn operations(project: &TestProject, session: Option<&str>) -> Vec<(&'static str, CommandOutcome)> {
    let input = |more: serde_json::Value| {
        let mut input = more;
        if let Some(session) = session {
            input["session_id"] = json!(session);
        }
        input.to_string()
    };
    let run = |operation: &str, input: String| {
        project.omx_promptly(&["state", operation, "--input", &input, "--json"])
    };
    vec![
        ("write", run("write", input(json!({"mode":"ralph","active":true,"start":true})))),
        ("read", run("read", input(json!({"mode":"ralph"})))),
        ("clear", run("clear", input(json!({"mode":"ralph"})))),
        ("list-active", run("list-active", input(json!({})))),
        ("get-status", run("get-status", input(json!({})))),
    ]
}

#[track_caller]
fn assert_untouched(
    project: &TestProject,
    before: (&SavedTree, &std::collections::BTreeMap<PathBuf, Vec<u8>>),
) {
    assert_eq!(&project.kept(), before.0);
    assert_eq!(&bytes_outside(project), before.1);
    assert!(!project.folder().join("made-by-mistake").exists());
}

#[test]
fn state_4_5_in_place_of_a_document() {
    for session in [None, Some("s")] {
        for thing in THINGS {
            let project = project();
            let target = outside(&project).join("ralph-state.json");
            project.put(json!({"mode":"ultrawork","active":true,"session_id":session}));
            let file = "ralph-state.json";
            let path = session.map_or(project.state(file), |id| project.session(id, file));
            place(&project, thing, &path, &target);
            let (kept, around) = (project.kept(), bytes_outside(&project));
            for (operation, outcome) in operations(&project, session) {
                if ["list-active", "get-status"].contains(&operation) {
                    let answer = outcome.ok();
                    assert_eq!(answer["unreadable"][0]["path"], path.to_str().unwrap(), "{thing}");
                    assert!(answer.to_string().contains("ultrawork"), "never blocks another mode");
                } else {
                    assert_eq!(outcome.refused(), "unsafe_path", "{operation} {thing}");
                    let error = outcome.json()["error"].as_str().unwrap().to_owned();
                    assert!(error.contains(path.to_str().unwrap()), "{error}");
                }
            }
            let named = project.omx_promptly(&["cancel", "--mode", "ralph", "--json"]);
            assert_eq!(named.refused(), "unsafe_path", "{thing}");
            assert_untouched(&project, (&kept, &around));
            for args in [&["cancel", "--json"][..], &["cancel", "--force", "--json"]] {
                let answer = project.omx_promptly(args).ok();
                let ended = if args.len() == 2 { json!("ultrawork") } else { json!(null) };
                assert_eq!(answer["cancelled"][0]["mode"], ended, "{thing}");
                assert!(fs::symlink_metadata(&path).is_ok(), "{thing}: it is not ours to remove");
            }
            assert_eq!(bytes_outside(&project), around, "{thing}");
        }
    }
}

#[test]
fn state_4_5_in_place_of_a_sessions_folder() {
    for thing in THINGS.into_iter().filter(|thing| *thing != "folder") {
        let project = project();
        let target = outside(&project).join("s");
        project.put(json!({"mode":"ralph","active":true,"session_id":"other"}));
        place(&project, thing, &project.state("sessions/s"), &target);
        let (kept, around) = (project.kept(), bytes_outside(&project));
        for (operation, outcome) in operations(&project, Some("s")) {
            assert_eq!(outcome.refused(), "unsafe_path", "{operation} {thing}");
        }
        assert_untouched(&project, (&kept, &around));
        let cancel = project.omx_promptly(&["cancel", "--session-id", "s", "--json"]);
        assert_eq!(cancel.refused(), "unsafe_path", "{thing}");
        // The mark that keeps the session cancelled is all that is new.
        fs::remove_file(project.state(".activity/s.cancel")).unwrap();
        fs::remove_dir(project.state(".activity")).unwrap();
        assert_untouched(&project, (&kept, &around));
        let listed = project.omx_promptly(&["state", "list-active", "--json"]).ok();
        assert_eq!(listed["entries"].as_array().unwrap().len(), 1, "the others are seen");
        let ultrawork = r#"{"mode":"ultrawork","active":true}"#;
        project.omx_promptly(&["state", "write", "--json", "--input", ultrawork]).ok();
        let everywhere = r#"{"mode":"ultrawork","all_sessions":true}"#;
        let cleared = project.omx_promptly(&["state", "clear", "--json", "--input", everywhere]);
        assert_eq!(cleared.ok()["removed"], 1, "{thing}");
        let cancelled = project.omx_promptly(&["cancel", "--every-session", "--json"]).ok();
        assert_eq!(cancelled["cancelled"][0]["session_id"], "other", "{thing}");
        let forced = project.omx_promptly(&["cancel", "--force", "--json"]).ok();
        let path = project.state("sessions/s");
        assert_eq!(forced["kept"], json!([path.to_str().unwrap()]), "{thing}: said, not removed");
        assert!(fs::symlink_metadata(path).is_ok());
        assert_eq!(bytes_outside(&project), around, "{thing}");
    }
}

#[test]
fn state_4_5_in_place_of_the_folder_of_sessions() {
    for thing in THINGS.into_iter().filter(|thing| *thing != "folder") {
        let project = project();
        let target = outside(&project).join("sessions");
        project.put(json!({"mode":"ultrawork","active":true}));
        place(&project, thing, &project.state("sessions"), &target);
        let (kept, around) = (project.kept(), bytes_outside(&project));
        for (operation, outcome) in operations(&project, Some("s")) {
            assert_eq!(outcome.refused(), "unsafe_path", "{operation} {thing}");
        }
        let read = project.omx_promptly(&["state", "read", "--mode", "ultrawork", "--json"]);
        assert_eq!(read.ok()["active"], true, "outside sessions there is nothing in the way");
        assert_untouched(&project, (&kept, &around));
    }
}

#[test]
fn state_4_5_in_place_of_the_lock() {
    for thing in THINGS {
        let project = project();
        let target = outside(&project).join("ralph-state.json");
        project.write(".omx/state/ralph-state.json", r#"{"active":true}"#);
        place(&project, thing, &project.state(".lock"), &target);
        let (kept, around) = (project.kept(), bytes_outside(&project));
        for (operation, outcome) in operations(&project, None) {
            if ["write", "clear"].contains(&operation) {
                assert_eq!(outcome.refused(), "unsafe_path", "{operation} {thing}");
                let error = outcome.json()["error"].as_str().unwrap().to_owned();
                assert!(error.contains("/.lock is a"), "{error}");
            } else {
                assert_eq!(outcome.code, Some(0), "readers take no lock: {operation} {thing}");
            }
        }
        let cancel = project.omx_promptly(&["cancel", "--json"]);
        assert_eq!(cancel.refused(), "unsafe_path", "{thing}");
        assert_untouched(&project, (&kept, &around));
    }
}

#[test]
fn state_4_5_in_place_of_the_state_root_or_the_whole_tree() {
    for name in [".omx/state", ".omx"] {
        for thing in THINGS.into_iter().filter(|thing| *thing != "folder") {
            let project = project();
            let target = outside(&project).join(if name == ".omx" { "" } else { "state" });
            place(&project, thing, &project.root().join(name), &target);
            let around = bytes_outside(&project);
            for (operation, outcome) in operations(&project, None) {
                assert_eq!(outcome.refused(), "unsafe_path", "{operation} {thing} {name}");
            }
            for args in
                [&["cancel", "--json"][..], &["cancel", "--force", "--json"], &["status", "--json"]]
            {
                let outcome = project.omx_promptly(args);
                assert_eq!(outcome.refused(), "unsafe_path", "{args:?} {thing} {name}");
            }
            assert_eq!(bytes_outside(&project), around, "{thing} {name}");
            assert!(!project.folder().join("made-by-mistake").exists());
        }
    }
}

#[test]
fn state_4_5_a_file_in_place_of_a_folder_is_refused() {
    for name in ["sessions/s", "sessions", "../state"] {
        let project = project();
        let path = project.state(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap_or_default();
        project.write(".omx/keep", "");
        let path = if name == "../state" { project.root().join(".omx/state") } else { path };
        fs::write(&path, "mine").unwrap_or_else(|_| {
            fs::remove_dir_all(&path).unwrap();
            fs::write(&path, "mine").unwrap();
        });
        for (operation, outcome) in operations(&project, Some("s")) {
            assert_eq!(outcome.refused(), "unsafe_path", "{operation} {name}");
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}

#[test]
fn state_4_5_a_link_in_place_of_the_activity_record_is_not_followed() {
    let project = project();
    let target = project.folder().join("secret");
    fs::write(&target, "secret").unwrap();
    project.put(json!({"mode":"ralph","active":true,"session_id":"s"}));
    fs::create_dir_all(project.state(".activity")).unwrap();
    symlink(&target, project.state(".activity/s.json")).unwrap();
    project.omx_promptly(&["cancel", "--json"]).ok();
    project
        .omx_promptly(&["state", "clear", "--mode", "ralph", "--session-id", "s", "--json"])
        .ok();
    assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
}

//! trust.md 6.1: every hook event answers within a second, whatever lies in its way.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, answer, used_project, within_a_second};

/// Every event that a host sends.
const EVENTS: [&str; 13] = [
    "SessionStart",
    "SessionEnd",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "Interrupt",
    "PreCompact",
    "Notification",
    "NeverHeardOf",
];

/// What the events may carry.
fn details() -> Value {
    json!({
        "tool_name": "Bash",
        "tool_input": {"command": "true"},
        "prompt": "$ralph mend the parser",
        "last_assistant_message": "done",
        "trigger": "auto",
        "source": "startup",
        "error": "rate_limit",
    })
}

/// A conversation in which ralph is active, so that every event has something to do.
fn active_project() -> TestProject {
    let project = used_project();
    let conversation = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    conversation.tool("Bash");
    project
}

fn make_pipe(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success(), "{}", path.display());
}

/// Replaces what is at a path by a pipe, and returns where the original went.
fn replace_by_pipe(path: &std::path::Path) -> Option<PathBuf> {
    let aside = path.with_file_name("set-aside");
    let was_there = fs::rename(path, &aside).is_ok();
    make_pipe(path);
    was_there.then_some(aside)
}

fn assert_all_answer(project: &TestProject, what: &str, prepare: impl Fn(&mut Command)) {
    for host in BOTH {
        let conversation = HostConversation { project, host, session: "s1" };
        for event in EVENTS {
            let payload = conversation.payload(event, details()).to_string();
            let took = within_a_second(|| {
                let mut command = conversation.command();
                command.env("CLAUDE_ENV_FILE", project.folder().join("exports"));
                prepare(&mut command);
                let answer = answer(command, payload.as_bytes());
                assert!(answer.is_object(), "{what}, {event}: {answer}");
            });
            assert!(took.as_millis() < 1000, "{what}, {event}: {took:?}");
        }
    }
}

#[test]
fn trust_6_1_every_event_answers_within_a_second_with_a_pipe_in_each_place() {
    let project = active_project();
    let session = ".omx/state/sessions/s1";
    let inside = [
        ".git",
        ".git/HEAD",
        ".git/commondir",
        ".git/index",
        ".git/packed-refs",
        ".git/refs/heads/main",
        ".omx",
        ".omx/config.toml",
        ".omx-config.json",
        ".omx/state",
        ".omx/state/.lock",
        ".omx/state/sessions",
        session,
        &format!("{session}/ralph-state.json"),
        ".omx/state/.activity",
        ".omx/state/.activity/s1.json",
        ".omx/log",
        ".omx/log/events.jsonl",
        ".omx/runs",
        ".omx/state/.activity/s1.cancel",
    ];
    let outside = [
        "home/.local",
        "home/.local/state",
        "home/.config",
        "home/.config/omx/config.toml",
        "exports",
    ];
    let inside = inside.iter().map(|place| project.root().join(place));
    let outside = outside.iter().map(|place| project.folder().join(place));
    fs::create_dir_all(project.home().join(".config/omx")).unwrap();
    for path in inside.chain(outside).collect::<Vec<_>>() {
        if !path.parent().unwrap().is_dir() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        let aside = replace_by_pipe(&path);
        assert_all_answer(&project, &path.display().to_string(), |_| {});
        // A pending cancel is carried out, whatever its file is.
        let _ = fs::remove_file(&path);
        if let Some(aside) = aside {
            fs::rename(aside, &path).unwrap();
        }
    }
}

#[test]
fn trust_6_1_a_working_directory_that_does_not_exist_is_never_created() {
    let project = active_project();
    for cwd in ["missing", "missing/deep/inside"] {
        for host in BOTH {
            for event in EVENTS {
                let conversation = HostConversation { project: &project, host, session: "s2" };
                let mut details = details();
                let folder = project.folder().join(cwd);
                details["cwd"] = json!(folder);
                let payload = conversation.payload(event, details).to_string();
                answer(conversation.command(), payload.as_bytes());
                let made = project.folder().join("missing");
                assert!(!made.exists(), "{event} made {}", made.display());
            }
        }
    }
}

#[test]
fn trust_6_1_every_event_answers_under_a_limit_for_file_sizes() {
    let project = active_project();
    let before = project.bytes(".omx/state");
    for host in BOTH {
        let conversation = HostConversation { project: &project, host, session: "s1" };
        for event in EVENTS {
            let payload = conversation.payload(event, details()).to_string();
            // Standard output is a pipe, which the limit does not concern.
            let mut command = project.command("sh");
            command.args(["-c", "ulimit -f 0; exec \"$0\" hook --host \"$1\""]);
            command.arg(project.binary()).arg(host.name());
            let answer = answer(command, payload.as_bytes());
            assert!(answer.is_object(), "{event}: {answer}");
        }
    }
    assert_eq!(project.bytes(".omx/state"), before);
}

#[test]
fn trust_6_1_every_event_answers_while_the_lock_is_held() {
    let project = active_project();
    let lock = fs::File::options().write(true).open(project.state(".lock")).unwrap();
    lock.lock().unwrap();
    assert_all_answer(&project, "a held lock", |_| {});
    drop(lock);
}

#[test]
fn trust_6_1_every_event_answers_in_a_read_only_project() {
    let project = active_project();
    let payload = project.folder().join("payload.json");
    for host in BOTH {
        let conversation = HostConversation { project: &project, host, session: "s1" };
        for event in EVENTS {
            fs::write(&payload, conversation.payload(event, details()).to_string()).unwrap();
            let script = format!(
                "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec '{}' hook --host {} < '{}'",
                project.binary().display(),
                host.name(),
                payload.display()
            );
            let mut command = project.command("unshare");
            command.args(["--map-root-user", "--mount", "sh", "-eu", "-c", &script]);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{event}: {output:?}");
            let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(answer.is_object(), "{event}: {answer}");
        }
    }
}

#[test]
fn trust_6_1_an_event_whose_folders_are_links_writes_nothing_through_them() {
    let project = active_project();
    let victim = project.folder().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "mine").unwrap();
    for (place, target) in [
        (".omx/state/.activity/s1.cancel", "file"),
        (".omx/log/events.jsonl", "file"),
        (".omx/state/.activity", ""),
        (".omx/log", ""),
    ] {
        let path = project.root().join(place);
        let aside = path.with_file_name("set-aside");
        let was_there = fs::rename(&path, &aside).is_ok();
        symlink(victim.join(target), &path).unwrap();
        // With the lock held, a cancel leaves a request in a file of its own.
        let lock = fs::File::options().write(true).open(project.state(".lock")).unwrap();
        lock.lock().unwrap();
        let conversation =
            HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
        conversation.prompt("cancelomx");
        drop(lock);
        conversation.tool("Bash");
        // A pending cancel is carried out, whatever its file is.
        let _ = fs::remove_file(&path);
        if was_there {
            fs::rename(&aside, &path).unwrap();
        }
        assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "mine", "{place}");
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 1, "{place}");
    }
}

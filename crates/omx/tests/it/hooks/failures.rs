//! hosts.md 1.1: whatever the payload and the state of the store, the answer is the
//! empty effect with exit 0, in time.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::kit::{
    BOTH, HookHost, HostConversation, answer, ended, held, used_project, within_a_second,
};

#[test]
fn hosts_1_1_every_broken_payload_gets_the_empty_effect() {
    let project = used_project();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_field =
        format!(r#"{{"hook_event_name":"PreToolUse","session_id":"s1","tool_input":{deep}}}"#);
    let huge = format!(
        r#"{{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt":"{}"}}"#,
        "a ".repeat(20_000_000)
    );
    let large = format!(
        r#"{{"hook_event_name":"UserPromptSubmit","session_id":"s1","prompt":"{}"}}"#,
        "a ".repeat(2_000_000)
    );
    let payloads: Vec<&[u8]> = vec![
        b"",
        b"\n",
        b"nonsense",
        b"{",
        b"null",
        b"[]",
        b"7",
        b"\"Stop\"",
        b"{}",
        b"{\"hook_event_name\":\"Stop\"}",
        b"{\"hook_event_name\":null,\"session_id\":\"s1\"}",
        b"{\"hook_event_name\":[\"Stop\"],\"session_id\":\"s1\"}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":7}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"../../etc\"}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"\"}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"s1\",\"cwd\":\"/nowhere/at/all\"}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"s1\",\"cwd\":\"relative\"}",
        b"{\"hook_event_name\":\"NeverHeardOf\",\"session_id\":\"s1\"}",
        b"{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"s1\",\"prompt\":[1,2]}",
        b"{\"hook_event_name\":\"UserPromptSubmit\",\"session_id\":\"s1\"}",
        b"{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s1\",\"tool_input\":\"x\",\"tool_name\":{}}",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"s1\",\"session_id\":\"s2\"}",
        b"\xff\xfe\x00\x01",
        b"{\"hook_event_name\":\"Stop\",\"session_id\":\"\\ud800\"}",
        &[0; 4096],
        deep.as_bytes(),
        deep_field.as_bytes(),
        huge.as_bytes(),
        large.as_bytes(),
    ];
    let before = project.bytes("");
    for host in BOTH {
        for payload in &payloads {
            let report = String::from_utf8_lossy(&payload[..payload.len().min(80)]).into_owned();
            within_a_second(|| {
                let command = project.omx_command(&["hook", "--host", host.name()]);
                assert_eq!(answer(command, payload), json!({}), "{report}");
            });
        }
    }
    assert_eq!(project.bytes(""), before);
}

#[test]
fn hosts_1_1_a_payload_that_never_ends_is_not_waited_for() {
    let project = used_project();
    let waited = within_a_second(|| {
        let mut command = project.omx_command(&["hook", "--host", "claude", "Stop"]);
        let begun = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let open = child.stdin.take();
        assert_eq!(ended(child, begun), json!({}));
        drop(open);
    });
    assert!(waited >= Duration::from_millis(500), "it waited for a while");
}

#[test]
fn hosts_1_1_wrong_usage_never_blocks_the_person() {
    let project = used_project();
    // To a host, exit code 2 means: block.
    for args in [&["hook"][..], &["hook", "--host", "emacs"], &["hook", "--hots", "codex"]] {
        let outcome = project.omx(args);
        assert_eq!(outcome.code, Some(1), "{args:?}: {outcome:?}");
        assert_eq!(outcome.stdout, "");
    }
    // To a person, wrong usage is wrong usage.
    assert_eq!(project.omx(&["hook", "explain"]).code, Some(2));
    assert_eq!(project.omx(&["ask", "codex", "hook", "--no-such-flag"]).code, Some(2));
    assert_eq!(project.omx(&["list", "hook", "--no-such-flag"]).code, Some(2));
    assert_eq!(project.omx(&["--dialect", "omx", "hook", "--no-such-flag"]).code, Some(1));
}

#[test]
fn r6_an_unusable_store_holds_no_stop() {
    for host in BOTH {
        // A document of zeros beside a good one: the good one still counts.
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        project.write(".omx/state/sessions/s1/ultraqa-state.json", [0; 512]);
        held(&conversation.stop("go on"));
        // A broken document holds nothing and is preserved.
        for broken in [&[0; 512][..], b"{", b"[]", b"{\"active\":true"] {
            project.write(".omx/state/sessions/s1/ralph-state.json", broken);
            assert_eq!(conversation.stop("go on"), json!({}));
            assert_eq!(fs::read(project.session("s1", "ralph-state.json")).unwrap(), broken);
        }
        // Something else in place of the session, the state, the tree.
        for place in [".omx/state/sessions/s1", ".omx/state", ".omx"] {
            let path = project.root().join(place);
            fs::remove_dir_all(&path).unwrap();
            symlink("/nowhere", &path).unwrap();
            assert_eq!(conversation.stop("go on"), json!({}), "{place}");
            assert_eq!(conversation.prompt("hello"), json!({}), "{place}");
            fs::remove_file(&path).unwrap();
            fs::create_dir_all(&path).unwrap();
        }
    }
}

#[test]
fn r6_a_newer_schema_is_held_by_its_known_fields() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let newer = r#"{"schema":99,"mode":"ralph","active":true,"current_phase":"hovering","novel":{"x":[1]},"updated_at":"2999-01-01T00:00:00Z"}"#;
    project.write(".omx/state/sessions/s1/ralph-state.json", newer);
    let answer = conversation.stop("go on");
    assert!(held(&answer).contains("phase hovering"), "{answer}");
    let document = conversation.document("ralph");
    assert_eq!((&document["schema"], &document["novel"]), (&json!(99), &json!({"x": [1]})));
}

#[test]
fn r6_a_zeroed_record_is_started_anew_and_bounds_hold() {
    let project = used_project();
    let conversation = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    for holds in 1..=50 {
        project.write(".omx/state/.activity/s1.json", [0; 300]);
        held(&conversation.stop("again"));
        assert_eq!(conversation.document("ralph")["iteration"], holds);
    }
    // What the record loses, the document still counts.
    conversation.stop("again");
    assert_eq!(conversation.document("ralph")["error"], "max_iterations reached");
}

#[test]
fn r6_a_read_only_folder_holds_no_stop() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    let before = project.bytes(".omx");
    for event in ["Stop", "PostToolUse", "PreCompact", "Interrupt", "SessionStart"] {
        let payload = project.folder().join("payload.json");
        fs::write(&payload, conversation.payload(event, json!({"tool_name": "Bash"})).to_string())
            .unwrap();
        let script = format!(
            "mount --bind . . && mount -o remount,bind,ro . && cd \"$PWD\" && exec '{}' hook --host claude < '{}'",
            project.binary().display(),
            payload.display()
        );
        let mut command = project.command("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-eu", "-c", &script]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{event}: {output:?}");
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer.get("decision"), None, "{event}: {answer}");
    }
    assert_eq!(project.bytes(".omx"), before);
    held(&conversation.stop("writable again"));
}

#[test]
fn r6_a_program_replaced_while_running_still_answers() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    let copy = project.folder().join("omx-copy");
    fs::copy(project.binary(), &copy).unwrap();
    let begun = Instant::now();
    let mut command = project.command(&copy);
    command.args(["hook", "--host", "claude"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let other = project.folder().join("omx-other");
    fs::write(&other, "another program").unwrap();
    fs::rename(&other, &copy).unwrap();
    let payload = conversation.payload("Stop", json!({})).to_string();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), payload.as_bytes()).unwrap();
    held(&ended(child, begun));
}

/// Idle hooks under strace: what they open for writing, and what they start.
#[test]
fn hosts_1_1_an_idle_hook_writes_no_file_and_starts_no_process() {
    let project = used_project();
    project.write(".omx/state/sessions/s1/ralph-state.json", r#"{"active":false}"#);
    let conversation = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    let before = project.bytes("");
    let more = json!({"tool_name": "Bash", "prompt": "mend the parser", "trigger": "auto"});
    for event in ["PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "PreCompact"] {
        let payload = project.folder().join("payload.json");
        fs::write(&payload, conversation.payload(event, more.clone()).to_string()).unwrap();
        let log = project.folder().join("trace");
        let mut command = project.command("strace");
        command.args(["-f", "-o"]).arg(&log);
        command.args(["-e", "trace=openat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,execve,clone,clone3,fork,vfork"]);
        command.arg(project.binary()).args(["hook", "--host", "codex"]);
        let output = command.stdin(fs::File::open(&payload).unwrap()).output().unwrap();
        assert_eq!(output.stdout, b"{}\n", "{event}: {output:?}");
        let trace = fs::read_to_string(&log).unwrap();
        let writes = ["O_WRONLY", "O_RDWR", "O_CREAT", "mkdir", "rename", "unlink"];
        for line in trace.lines() {
            assert!(!writes.iter().any(|word| line.contains(word)), "{event}: {line}");
            let starts = ["clone(", "clone3(", "fork("].iter().any(|call| line.contains(call));
            // The thread that enforces the deadline is not a process.
            assert!(!starts || line.contains("CLONE_THREAD"), "{event}: {line}");
        }
        assert_eq!(trace.matches("execve(").count(), 1, "{event}: {trace}");
        if event.ends_with("ToolUse") {
            assert!(!trace.contains("clone"), "{event}: {trace}");
        }
    }
    assert_eq!(project.bytes(""), before);
}

//! hosts.md 1.6: the agent's writes land where its Stop hook reads.

use std::fs;

use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, answer, held, used_project};

/// Writes state without naming a session, as an agent's shell would. The test
/// itself is the host: it is the ancestor of the hook and of this command.
fn writes(conversation: &HostConversation<'_>, variables: &[(&str, &str)]) -> String {
    let input = r#"{"mode":"ralph","active":true,"task_description":"x"}"#;
    let outcome =
        conversation.project.omx_env(&["state", "write", "--input", input, "--json"], variables);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    answer["path"].as_str().unwrap().to_owned()
}

#[test]
fn hosts_1_6_a_command_of_the_agent_finds_the_conversation_it_belongs_to() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.event("SessionStart", json!({"source": "startup"}));
        let path = writes(&conversation, &[]);
        assert!(path.ends_with("sessions/s1/ralph-state.json"), "{path}");
        held(&conversation.stop("done?"));
        assert_eq!(project.omx(&["cancel"]).code, Some(0));
        assert_eq!(conversation.stop("done"), json!({}));
    }
}

#[test]
fn hosts_1_6_no_guess_is_made_for_a_host_with_several_conversations() {
    let project = used_project();
    let one = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    let two = HostConversation { session: "s2", ..one };
    one.event("SessionStart", json!({"source": "startup"}));
    two.event("SessionStart", json!({"source": "startup"}));
    let path = writes(&one, &[]);
    assert!(path.ends_with(".omx/state/ralph-state.json"), "{path}");
    project.omx(&["cancel"]);
    two.event("SessionEnd", json!({"reason": "other"}));
    let path = writes(&one, &[("HOME", project.home().to_str().unwrap())]);
    assert!(path.ends_with("sessions/s1/ralph-state.json"), "{path}");
}

#[test]
fn hosts_1_6_the_environment_takes_precedence_over_ancestors() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.event("SessionStart", json!({"source": "startup"}));
    let path = writes(&conversation, &[("CLAUDE_CODE_SESSION_ID", "s2")]);
    assert!(path.ends_with("sessions/s2/ralph-state.json"), "{path}");
    let path = writes(&conversation, &[("CLAUDE_CODE_SESSION_ID", "s2"), ("OMX_SESSION_ID", "s3")]);
    assert!(path.ends_with("sessions/s3/ralph-state.json"), "{path}");
}

#[test]
fn hosts_1_6_a_server_that_started_before_the_conversation_finds_it() {
    let project = used_project();
    let conversation = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    let records = project.home().join(".local/state/omx/hosts");
    fs::create_dir_all(&records).unwrap();
    let mut server = project.mcp();
    let mut write = |mode: &str| {
        let (is_error, answer) = server.call("state_write", &json!({"mode": mode, "active": true}));
        assert!(!is_error, "{answer}");
        answer["path"].as_str().unwrap().to_owned()
    };
    let path = write("ultrawork");
    assert!(path.ends_with("state/ultrawork-state.json"), "{path}");
    project.omx(&["cancel"]);
    conversation.event("SessionStart", json!({"source": "startup"}));
    assert!(write("ralph").ends_with("sessions/s1/ralph-state.json"));
    held(&conversation.stop("done?"));
    // Another conversation of the same host replaces it.
    conversation.event("SessionEnd", json!({"reason": "clear"}));
    let next = HostConversation { session: "s2", ..conversation };
    next.event("SessionStart", json!({"source": "clear"}));
    assert!(write("ultraqa").ends_with("sessions/s2/ultraqa-state.json"));
}

#[test]
fn hosts_1_6_claude_hands_the_id_to_every_command_of_the_conversation() {
    let project = used_project();
    let file = project.folder().join("env.sh");
    fs::write(&file, "export OTHER=1\n").unwrap();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let payload = conversation.payload("SessionStart", json!({"source": "startup"})).to_string();
    for _ in 0..2 {
        let mut command = conversation.command();
        command.env("CLAUDE_ENV_FILE", &file);
        answer(command, payload.as_bytes());
    }
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "export OTHER=1\nexport OMX_SESSION_ID=s1\n");
}

#[test]
fn hosts_1_6_a_missing_session_is_added_to_calls_of_omx_tools_only() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let call = |tool: &str, input: Value| {
            conversation.event("PreToolUse", json!({"tool_name": tool, "tool_input": input}))
        };
        let filled = call("mcp__omx__state_read", json!({"mode": "ralph"}));
        let output = &filled["hookSpecificOutput"];
        assert_eq!(output["hookEventName"], "PreToolUse");
        assert_eq!(output["updatedInput"], json!({"mode": "ralph", "session_id": "s1"}));
        let given = json!({"mode": "ralph", "session_id": "other"});
        assert_eq!(call("mcp__omx__state_read", given), json!({}));
        assert_eq!(call("mcp__other__state_read", json!({"mode": "ralph"})), json!({}));
        assert_eq!(call("Bash", json!({"command": "mcp__omx__state_read"})), json!({}));
        let everywhere = json!({"mode": "ralph", "all_sessions": true});
        assert_eq!(call("mcp__omx__state_clear", everywhere), json!({}));
    }
}

#[test]
fn hosts_1_6_records_of_dead_hosts_are_removed() {
    let project = used_project();
    let records = project.home().join(".local/state/omx/hosts");
    fs::create_dir_all(records.join("4194304.1")).unwrap();
    fs::write(records.join("4194304.1/s9"), "").unwrap();
    let conversation = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    conversation.event("SessionStart", json!({"source": "startup"}));
    assert!(!records.join("4194304.1").exists());
    assert_eq!(fs::read_dir(&records).unwrap().count(), 1);
}

//! Each event of hosts.md 1.2 and what it does.

use omx_testkit::await_condition;
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, context, held, used_project};

#[test]
fn hosts_1_2_a_conversation_learns_what_is_active_and_its_own_id() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let first = conversation.event("SessionStart", json!({"source": "startup"}));
        assert!(context(&first).contains("session s1"), "{first}");
        assert!(!context(&first).contains("active"), "{first}");
        conversation.prompt("$ralph mend the parser");
        let again = conversation.event("SessionStart", json!({"source": "resume"}));
        let text = context(&again);
        assert!(text.contains("[Ralph active: phase starting"), "{text}");
        assert!(text.contains("mend the parser") && text.contains("omx cancel"), "{text}");
        // Another conversation in the same folder is not affected.
        let other = HostConversation { session: "s2", ..conversation };
        let text = other.event("SessionStart", json!({"source": "startup"}));
        assert!(!context(&text).contains("Ralph"), "{text}");
    }
}

#[test]
fn hosts_1_2_after_compaction_documents_decide_and_a_cancelled_mode_stays_cancelled() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        assert_eq!(conversation.event("PreCompact", json!({"trigger": "auto"})), json!({}));
        let text = conversation.event("SessionStart", json!({"source": "compact"}));
        assert!(context(&text).contains("[Ralph active"), "{text}");
        held(&conversation.stop("on it"));
        project.omx(&["cancel", "--session-id", "s1"]);
        let before = project.bytes(".omx/state/sessions");
        conversation.event("PreCompact", json!({"trigger": "auto"}));
        let text = conversation.event("SessionStart", json!({"source": "compact"}));
        assert!(!context(&text).contains("Ralph"), "{text}");
        assert_eq!(conversation.stop("on it"), json!({}));
        assert_eq!(project.bytes(".omx/state/sessions"), before);
    }
}

#[test]
fn modes_4_2_a_held_stop_names_mode_phase_iteration_what_is_missing_and_how_to_cancel() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        assert_eq!(conversation.stop("hello"), json!({}), "nothing is active");
        conversation.prompt("$ralph mend the parser");
        conversation.write(json!({"mode": "ralph", "current_phase": "executing"}));
        let answer = conversation.stop("I am done");
        let text = held(&answer);
        for part in ["Ralph", "phase executing", "iteration 1/50", "enter verifying", "cancelomx"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert_eq!(conversation.document("ralph")["iteration"], 1);
        // The next stop reads what the agent wrote to the state.
        conversation.write(json!({"mode": "ralph", "current_phase": "verifying"}));
        assert!(held(&conversation.stop("really")).contains("phase verifying"));
        conversation.write(
            json!({"mode": "ralph", "current_phase": "complete", "completion_audit":
            {"passed": true, "checklist": ["it works"],
             "evidence": [{"command": "true", "exit_code": 0}]}}),
        );
        assert_eq!(conversation.stop("done"), json!({}));
    }
}

#[test]
fn modes_4_1_a_stop_by_the_person_or_by_a_failure_is_never_held() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        let before = conversation.document("ralph");
        for more in [
            json!({"user_requested": true}),
            json!({"stop_reason": "user_interrupt"}),
            json!({"stop_reason": "aborted"}),
            json!({"stop_reason": "context_window_exceeded"}),
            json!({"stopReason": "max_tokens"}),
            json!({"stop_reason": "rate_limit"}),
            json!({"stop_reason": "usage_limit_reached"}),
            json!({"error": "authentication_failed"}),
            json!({"error": "billing_error"}),
            json!({"agent_id": "a1", "agent_type": "general-purpose"}),
        ] {
            assert_eq!(conversation.event("Stop", more.clone()), json!({}), "{more}");
        }
        assert_eq!(
            conversation.event("SubagentStop", json!({"agent_id": "", "agent_type": ""})),
            json!({})
        );
        assert_eq!(conversation.document("ralph"), before, "nothing was counted");
        held(&conversation.stop("and an ordinary one is"));
    }
}

#[test]
fn hosts_1_2_a_limit_waits_without_counting_until_the_agent_works_again() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    let failed = json!({"error": "rate_limit", "last_assistant_message": "limit reached"});
    assert_eq!(conversation.event("StopFailure", failed), json!({}));
    let document = conversation.document("ralph");
    assert_eq!(document["waiting"], json!({"kind": "rate_limit"}));
    assert_eq!((&document["iteration"], &document["active"]), (&json!(0), &json!(true)));
    assert_eq!(conversation.stop("waiting"), json!({}), "what waits is not held");
    conversation.tool("Bash");
    assert_eq!(conversation.document("ralph").get("waiting"), None);
    held(&conversation.stop("back"));
    // A failure that is not a limit changes nothing.
    let before = conversation.document("ralph");
    conversation.event("StopFailure", json!({"error": "server_error"}));
    assert_eq!(conversation.document("ralph"), before);
}

#[test]
fn hosts_1_2_tool_use_is_recorded_once_after_a_hold_and_costs_nothing_otherwise() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let idle = project.bytes("");
        conversation.tool("Bash");
        conversation.tool("mcp__other__thing");
        assert_eq!(project.bytes(""), idle, "nothing is active: nothing is written");
        conversation.prompt("$ralph mend the parser");
        held(&conversation.stop("one"));
        let activity = || -> Value {
            serde_json::from_str(&project.read(".omx/state/.activity/s1.json")).unwrap()
        };
        assert_eq!(activity()["holds_in_a_row"], 1);
        conversation.tool("Edit");
        assert_eq!(activity()["holds_in_a_row"], 0);
        assert_eq!(activity()["last_tool"], "edit");
        let noted = project.bytes("");
        conversation.tool("Bash");
        conversation.tool("Read");
        assert_eq!(project.bytes(""), noted, "noted once");
    }
}

#[test]
fn hosts_1_3_subagents_and_our_own_workers_start_and_hold_nothing() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let before = project.bytes("");
        let more = json!({"prompt": "$ralph mend the parser", "agent_id": "a1"});
        assert_eq!(conversation.event("UserPromptSubmit", more), json!({}));
        assert_eq!(project.bytes(""), before);
        conversation.prompt("$ralph mend the parser");
        let before = project.bytes("");
        let worker = |event: &str, more: Value| {
            let mut command = conversation.command();
            command.env("OMX_WORKER", "run/1");
            super::kit::answer(command, conversation.payload(event, more).to_string().as_bytes())
        };
        assert_eq!(worker("Stop", json!({})), json!({}));
        assert_eq!(worker("UserPromptSubmit", json!({"prompt": "$autopilot x"})), json!({}));
        assert_eq!(worker("UserPromptSubmit", json!({"prompt": "cancelomx"})), json!({}));
        assert_eq!(project.bytes(""), before);
    }
}

#[test]
fn hosts_1_4_the_project_comes_from_the_host_then_from_the_payload() {
    let project = used_project();
    let inner = project.write("deep/er/file", "x").parent().unwrap().to_owned();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let mut payload = conversation.payload("UserPromptSubmit", json!({"prompt": "$ralph x"}));
    payload["cwd"] = json!("/");
    let mut command = conversation.command();
    command.current_dir("/").env("CLAUDE_PROJECT_DIR", &inner);
    super::kit::answer(command, payload.to_string().as_bytes());
    assert_eq!(conversation.document("ralph")["active"], true);
    let mut command = conversation.command();
    command.current_dir("/");
    let stop = conversation.payload("Stop", json!({"cwd": inner}));
    held(&super::kit::answer(command, stop.to_string().as_bytes()));
}

#[test]
fn r5_two_conversations_in_one_folder_do_not_touch_each_other() {
    let project = used_project();
    let one = HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let two = HostConversation { project: &project, host: HookHost::Codex, session: "s2" };
    one.prompt("$ralph one thing");
    two.prompt("$autopilot another thing");
    let before = one.document("ralph");
    held(&two.stop("two"));
    two.prompt("cancelomx");
    assert_eq!(two.stop("two"), json!({}));
    assert_eq!(one.document("ralph"), before);
    held(&one.stop("one"));
    assert_eq!(two.document("autopilot")["active"], false);
}

#[test]
fn hosts_1_2_gemini_events_have_the_same_effects() {
    let project = used_project();
    let call = |payload: Value| {
        let command = project.omx_command(&["hook", "--host", "gemini"]);
        super::kit::answer(command, payload.to_string().as_bytes())
    };
    let common =
        |event: &str| json!({"session_id": "g1", "cwd": project.root(), "hook_event_name": event});
    let mut prompt = common("BeforeAgent");
    prompt["prompt"] = json!("$ralph mend the parser");
    assert!(context(&call(prompt)).contains("Ralph started"));
    let mut stop = common("AfterAgent");
    stop["prompt_response"] = json!("done");
    let answer = call(stop.clone());
    assert_eq!(answer["decision"], "deny", "{answer}");
    assert_eq!(call(common("BeforeTool")), json!({}));
    project.omx(&["cancel", "--session-id", "g1"]);
    assert_eq!(call(stop), json!({}));
}

#[test]
fn hosts_1_6_an_ended_session_is_removed_from_its_hosts_record() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let records = project.home().join(".local/state/omx/hosts");
    conversation.event("SessionStart", json!({"source": "startup"}));
    let known = || std::fs::read_dir(&records).into_iter().flatten().count();
    assert_eq!(known(), 1);
    conversation.event("SessionEnd", json!({"reason": "other"}));
    await_condition("the record is gone", super::kit::PATIENCE, || known() == 0);
}

//! modes.md 5.3a, cancel.md 5 and hosts.md 1.6: force and all reach every session, from a
//! prompt and through MCP alike.

use std::time::Duration;

use omx_testkit::await_condition;
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, answer, context, used_project};
use crate::conduct::Repository;

#[test]
fn modes_5_3a_force_words_cancel_and_clear_every_session() {
    for host in BOTH {
        for words in [
            "/cancel --force",
            "/cancel --all",
            "/cancel --force --all",
            "$cancel --force",
            "/oh-my-claudecode:cancel --all",
            "cancelomx --force",
            "cancelomc --all",
            "stopomx --all",
        ] {
            let project = used_project();
            let one = HostConversation { project: &project, host, session: "s1" };
            let two = HostConversation { project: &project, host, session: "s2" };
            two.prompt("$autopilot build a parser");
            project.write(".omx/state/boulder.json", "{}");
            let answer = one.prompt(words);
            let text = context(&answer);
            assert!(text.contains("All OMX modes cleared."), "{words}: {text}");
            assert!(text.contains("Autopilot cancelled at phase: ralplan."), "{words}: {text}");
            assert!(!text.contains("preserved") && !text.contains("to resume"), "{words}: {text}");
            assert!(!project.session("s2", "autopilot-state.json").exists(), "{words}");
            assert!(!project.state("boulder.json").exists(), "{words}");
            assert_eq!(two.stop("done?"), json!({}), "{words}");
        }
    }
}

#[test]
fn modes_5_3a_cancel_all_and_cancel_everything_reach_every_session_and_delete_nothing() {
    for host in BOTH {
        for words in ["cancel all", "Cancel everything!", "/cancel all", "cancelomx all"] {
            let project = used_project();
            let one = HostConversation { project: &project, host, session: "s1" };
            let two = HostConversation { project: &project, host, session: "s2" };
            two.prompt("$ralph mend the parser");
            let answer = one.prompt(words);
            assert!(context(&answer).contains("Ralph cancelled."), "{words}: {answer}");
            assert_eq!(two.document("ralph")["run_outcome"], "cancelled", "{words}");
            assert_eq!(two.stop("done?"), json!({}), "{words}");
        }
        // Where omx has nothing to cancel, the words belong to the agent.
        let project = used_project();
        let one = HostConversation { project: &project, host, session: "s1" };
        assert_eq!(one.prompt("cancel everything"), json!({}));
    }
}

#[test]
fn modes_5_3a_a_cancel_that_names_a_mode_leaves_the_others() {
    let project = used_project();
    let one = HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    one.prompt("$ralph mend the parser");
    one.prompt("$ultrawork and the lexer");
    one.prompt("/cancel ultrawork");
    assert_eq!(one.document("ultrawork")["active"], false);
    assert_eq!(one.document("ralph")["active"], true);
}

/// The arguments of an MCP call after the host's hook has seen them.
fn hooked(conversation: &HostConversation<'_>, tool: &str, input: &Value) -> Value {
    let more =
        json!({"tool_name": format!("mcp__omx__{tool}"), "tool_input": input, "tool_use_id": "t"});
    let payload = conversation.payload("PreToolUse", more).to_string();
    let answer = answer(conversation.command(), payload.as_bytes());
    match answer["hookSpecificOutput"].get("updatedInput") {
        Some(input) => input.clone(),
        None => input.clone(),
    }
}

#[test]
fn hosts_1_6_mcp_calls_that_mean_every_session_keep_that_meaning() {
    for host in BOTH {
        for input in [
            json!({"force": true}),
            json!({"all": true}),
            json!({"every_session": true}),
            json!({"what": "all"}),
        ] {
            let project = used_project();
            let one = HostConversation { project: &project, host, session: "s1" };
            let two = HostConversation { project: &project, host, session: "s2" };
            two.prompt("$ralph mend the parser");
            let mut client = project.mcp();
            let arguments = hooked(&one, "state_list_active", &json!({}));
            let (_, active) = client.call("state_list_active", &arguments);
            assert_eq!(active["active_modes"], json!(["ralph"]), "{active}");
            let arguments = hooked(&one, "state_get_status", &json!({"mode": "ralph"}));
            let (_, status) = client.call("state_get_status", &arguments);
            assert_eq!(status["sessions"]["s2"]["ralph"]["active"], true, "{status}");
            let (failed, report) = client.call("cancel", &hooked(&one, "cancel", &input));
            assert!(!failed, "{input}: {report}");
            assert_eq!(report["cancelled"][0]["session_id"], "s2", "{input}: {report}");
            assert_eq!(two.stop("done?"), json!({}), "{input}");
        }
    }
}

#[test]
fn cancel_5_2a_a_live_run_is_ended_first_and_its_remains_are_named() {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(12);
    let id = repository.id();
    let outcome = repository.project.omx(&["cancel", "--force", "--all", "--json"]);
    let report = outcome.ok();
    assert_eq!(report["cancelled"][0]["preserved"], false, "{report}");
    let message = report["message"].as_str().unwrap();
    assert!(!message.contains("preserved") && !message.contains("to resume"), "{message}");
    assert!(message.contains(&format!("journal .omx/runs/{id}, worktree ")), "{message}");
    assert!(message.contains("see omx runs"), "{message}");
    assert_eq!(running.code(), Some(4));
    assert!(repository.project.root().join(".omx/runs").join(&id).exists());
    assert!(!repository.project.session(&id, "autopilot-state.json").exists());
}

#[test]
fn cancel_3_6_force_from_a_prompt_ends_a_live_run_and_clears_after_it() {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(12);
    let id = repository.id();
    let conversation =
        HostConversation { project: &repository.project, host: HookHost::Claude, session: "s1" };
    let answer = conversation.prompt("/cancel --force");
    assert!(context(&answer).contains("Autopilot cancelled at phase"), "{answer}");
    assert!(!context(&answer).contains("All OMX modes cleared"), "{answer}");
    assert_eq!(running.code(), Some(4));
    await_condition("the state is cleared", Duration::from_secs(20), || {
        !repository.project.session(&id, "autopilot-state.json").exists()
    });
}

#[test]
fn state_3_4_force_clears_a_session_folder_with_an_odd_name() {
    let project = used_project();
    let odd = ".omx/state/sessions/my session.1";
    project.write(&format!("{odd}/ralph-state.json"), r#"{"mode":"ralph","active":true}"#);
    let report = project.omx(&["cancel", "--every-session"]);
    assert!(report.stdout.contains("not a session id"), "{report:?}");
    project.omx(&["cancel", "--force"]).code.unwrap();
    assert!(!project.root().join(odd).exists());
}

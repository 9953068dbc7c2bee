//! Events of the hosts in, output for the hosts out.

use omx_host::HostKind;
use omx_host::hook::{
    HookEvent, HookFiles, HookFollowUp, HookOutcome, HookOutput, HookPayload, handle_event,
};
use serde_json::{Map, Value, json};

use crate::place::HostTestProject;

fn send(place: &HostTestProject, host: HostKind, payload: &Value) -> HookOutcome {
    let text = payload.to_string();
    let payload = HookPayload::parse(host, None, text.as_bytes()).unwrap();
    handle_event(&payload, &place.context(), &HookFiles::default()).unwrap()
}

fn event(name: &str, more: Value) -> Value {
    let mut fields = json!({"hook_event_name": name, "session_id": "s1"});
    fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    fields
}

#[test]
fn hosts_1_2_every_output_has_the_hosts_form() {
    let mut input = Map::new();
    input.insert("a".to_owned(), Value::from(1));
    let lines = |output: &HookOutput| {
        HostKind::ALL.map(|host| -> Value {
            serde_json::from_str(&output.format_line(host, "E", |_| None)).unwrap()
        })
    };
    assert_eq!(lines(&HookOutput::Empty), [json!({}), json!({}), json!({})]);
    let [codex, claude, gemini] = lines(&HookOutput::Hold("why".to_owned()));
    assert_eq!(codex, json!({"decision": "block", "reason": "why"}));
    assert_eq!((&claude, &gemini["decision"]), (&codex, &json!("deny")));
    let [codex, claude, gemini] = lines(&HookOutput::Arguments(input));
    let inner = |value: &Value| value["hookSpecificOutput"].clone();
    let claude_wanted = json!({"hookEventName": "E", "updatedInput": {"a": 1}});
    assert_eq!(inner(&claude), claude_wanted);
    assert_eq!(inner(&codex)["permissionDecision"], "allow");
    assert_eq!(inner(&gemini), json!({"hookEventName": "E", "tool_input": {"a": 1}}));
    let context = lines(&HookOutput::Context("words".to_owned()));
    assert!(context.iter().all(|line| inner(line)["additionalContext"] == "words"));
}

#[test]
fn hosts_1_3_names_of_events_are_read_in_every_hosts_spelling() {
    for (name, is_prompt) in [
        ("UserPromptSubmit", true),
        ("user_prompt_submit", true),
        ("BeforeAgent", true),
        ("x", false),
    ] {
        let text = event(name, json!({"prompt": "hi"})).to_string();
        let payload = HookPayload::parse(HostKind::Codex, None, text.as_bytes()).unwrap();
        assert_eq!(matches!(payload.event, HookEvent::Prompt { .. }), is_prompt, "{name}");
    }
    for broken in ["", "[]", "{", r#"{"session_id":"s1"}"#] {
        assert!(HookPayload::parse(HostKind::Codex, None, broken.as_bytes()).is_none(), "{broken}");
    }
    let named = HookPayload::parse(HostKind::Codex, Some("Stop"), b"{}").unwrap();
    assert!(matches!(named.event, HookEvent::Stop { .. }) && named.session.is_none());
}

#[test]
fn hosts_1_4_a_session_learns_its_id_and_a_prompt_starts_and_cancels_a_mode() {
    let place = HostTestProject::new();
    let start = send(&place, HostKind::Claude, &event("SessionStart", json!({})));
    assert!(matches!(&start.output, HookOutput::Context(text) if text.contains("session s1")));
    let prompt = |text: &str| event("UserPromptSubmit", json!({"prompt": text}));
    let begun = send(&place, HostKind::Claude, &prompt("$ralph make the tests pass"));
    let HookOutput::ContextAndNotice { context, notice } = &begun.output else {
        panic!("{begun:?}")
    };
    assert!(context.contains("ralph") && notice.contains("cancelomx"), "{begun:?}");
    let stop = event("Stop", json!({"last_assistant_message": "I am done."}));
    let held = send(&place, HostKind::Claude, &stop);
    assert!(matches!(held.output, HookOutput::Hold(_)), "{held:?}");
    let of_subagent = event("Stop", json!({"agent_id": "a1"}));
    assert_eq!(send(&place, HostKind::Claude, &of_subagent).output, HookOutput::Empty);
    let cancelled = send(&place, HostKind::Claude, &prompt("$cancel"));
    assert!(matches!(cancelled.output, HookOutput::ContextAndNotice { .. }), "{cancelled:?}");
    assert_eq!(cancelled.follow_up, HookFollowUp::None);
    let released = send(&place, HostKind::Claude, &stop);
    assert_eq!(released.output, HookOutput::Empty);
}

#[test]
fn hosts_1_5_only_omx_s_own_tools_get_the_session() {
    let place = HostTestProject::new();
    let call = |tool: &str, input: Value| {
        let more = json!({"tool_name": tool, "tool_input": input});
        send(&place, HostKind::Codex, &event("PreToolUse", more)).output
    };
    let HookOutput::Arguments(input) = call("mcp__omx__state_read", json!({"mode": "ralph"}))
    else {
        panic!("no arguments")
    };
    assert_eq!(Value::Object(input), json!({"mode": "ralph", "session_id": "s1"}));
    let named = json!({"mode": "ralph", "session_id": "s2"});
    assert_eq!(call("mcp__omx__state_read", named), HookOutput::Empty);
    assert_eq!(call("mcp__other__state_read", json!({})), HookOutput::Empty);
    // A call that means all sessions is not narrowed to one.
    for (tool, input) in [
        ("cancel", json!({"force": true})),
        ("cancel", json!({"all": true})),
        ("cancel", json!({"every_session": true})),
        ("cancel", json!({"what": "all"})),
        ("state_clear", json!({"mode": "ralph", "all_sessions": true})),
        ("state_list_active", json!({})),
        ("state_get_status", json!({"mode": "ralph"})),
        ("state-list-active", json!({})),
    ] {
        assert_eq!(call(&format!("mcp__omx__{tool}"), input), HookOutput::Empty, "{tool}");
    }
    let narrowed = call("mcp__omx__cancel", json!({"force": false}));
    assert!(matches!(narrowed, HookOutput::Arguments(_)), "{narrowed:?}");
    assert_eq!(call("Bash", json!({"command": "ls"})), HookOutput::Empty);
}

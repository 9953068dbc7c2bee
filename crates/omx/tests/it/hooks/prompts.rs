//! What a prompt does through the hook: starts, links, resumes, refusals,
//! suggestions. The meaning of prompts is tested in omx-prompt.

use omx_testkit::MODES;
use serde_json::json;

use super::kit::{BOTH, HookHost, HostConversation, context, held, used_project};

#[test]
fn modes_5_1_a_call_writes_the_document_and_one_line_for_the_agent() {
    for host in BOTH {
        for mode in MODES {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            let answer = conversation.prompt(&format!("${mode} mend the parser"));
            let text = context(&answer);
            assert!(text.contains("started") && text.contains("session s1"), "{text}");
            assert!(!text.contains('\n'), "one line: {text}");
            let document = conversation.document(mode);
            assert_eq!(document["active"], true, "{mode}");
            assert_eq!(document["task_description"], "mend the parser", "{mode}");
            held(&conversation.stop("done?"));
        }
    }
}

#[test]
fn modes_2_2_an_autopilot_keeps_the_persons_prompt() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$autopilot build a parser\nthat reads TOML");
    let document = conversation.document("autopilot");
    let path = document["handoff_artifacts"]["context_snapshot_path"].as_str().unwrap();
    assert!(path.starts_with(".omx/context/build-a-parser"), "{path}");
    assert!(project.read(path).contains("that reads TOML"));
    assert_eq!(document["phase_cycle"], json!(["ralplan", "ralph", "code-review"]));
    assert_eq!(document["current_phase"], "ralplan");
}

#[test]
fn modes_3_2_a_second_driver_is_refused_and_the_first_one_named() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    let before = project.bytes(".omx/state/sessions");
    let answer = conversation.prompt("$autopilot build everything");
    let text = context(&answer);
    assert!(text.contains("was not started") && text.contains("ralph"), "{text}");
    assert!(text.contains("omx cancel"), "{text}");
    // Nor is the same one started twice.
    let answer = conversation.prompt("$ralph mend the lexer");
    assert!(context(&answer).contains("is already running"), "{answer}");
    assert_eq!(project.bytes(".omx/state/sessions"), before);
}

#[test]
fn modes_5_4_ralph_with_another_starts_both_linked() {
    for (words, other, field, back) in [
        ("$ralph $team mend the parser", "team", "linked_team", "linked_ralph"),
        ("$ralph $ultrawork mend the parser", "ultrawork", "linked_ultrawork", "linked_to_ralph"),
        ("$ralph $ecomode mend the parser", "ecomode", "linked_ecomode", "linked_to_ralph"),
    ] {
        let project = used_project();
        let conversation =
            HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
        let answer = conversation.prompt(words);
        assert!(context(&answer).contains(&format!("linked with {other}")), "{answer}");
        assert_eq!(conversation.document("ralph")[field], true, "{words}");
        assert_eq!(conversation.document(other)[back], true, "{words}");
        assert_eq!(conversation.document(other)["active"], true, "{words}");
        conversation.prompt("cancelomx");
        assert_eq!(conversation.document(other)["active"], false, "{words}");
        assert_eq!(conversation.document("ralph")["active"], false, "{words}");
    }
}

#[test]
fn cancel_6_the_keyword_alone_resumes_a_cancelled_autopilot() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$autopilot build a parser");
    conversation.prompt("cancelomx");
    assert_eq!(conversation.document("autopilot")["active"], false);
    let answer = conversation.prompt("$autopilot");
    let text = context(&answer);
    assert!(text.contains("resumed") && text.contains("build a parser"), "{text}");
    let document = conversation.document("autopilot");
    assert_eq!(
        (&document["active"], &document["current_phase"]),
        (&json!(true), &json!("ralplan"))
    );
    // With another task it starts anew.
    conversation.prompt("cancelomx");
    let answer = conversation.prompt("$autopilot build a lexer");
    assert!(context(&answer).contains("started"), "{answer}");
    assert_eq!(conversation.document("autopilot")["task_description"], "build a lexer");
}

#[test]
fn modes_5_3_continue_resumes_only_what_waits_for_the_person() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    assert_eq!(conversation.prompt("continue"), json!({}));
    conversation.prompt("$ralph mend the parser");
    assert!(!context(&conversation.prompt("continue")).contains("resumed"), "it is active");
    conversation
        .write(json!({"mode": "ralph", "run_outcome": "blocked_on_user", "error": "no token"}));
    assert_eq!(conversation.stop("asked"), json!({}));
    let answer = conversation.prompt("keep going");
    assert!(context(&answer).contains("Ralph resumed"), "{answer}");
    held(&conversation.stop("going"));
    conversation.prompt("cancelomx");
    assert_eq!(conversation.prompt("continue"), json!({}), "a cancelled ralph stays cancelled");
    assert_eq!(conversation.document("ralph")["active"], false);
}

#[test]
fn modes_5_2_phrases_suggest_start_or_say_nothing_as_configured() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let phrase = "don't stop until the build is green";
    let before = project.bytes("");
    let answer = conversation.prompt(phrase);
    let text = context(&answer);
    assert!(text.contains("$ralph") && text.contains("not started"), "{text}");
    assert_eq!(project.bytes(""), before, "a suggestion changes nothing");
    project.omx(&["config", "set", "keywords", "off", "--project"]);
    assert_eq!(conversation.prompt(phrase), json!({}));
    assert_eq!(conversation.prompt("just explain what full auto means"), json!({}));
    project.omx(&["config", "set", "keywords", "phrases", "--project"]);
    let answer = conversation.prompt(phrase);
    assert!(context(&answer).contains("Ralph started"), "{answer}");
}

#[test]
fn modes_2_7_a_pipelines_first_word_selects_its_stages() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$pipeline review: the parser");
    let document = conversation.document("pipeline");
    assert_eq!(document["stages"], json!(["explore", "architect", "critic", "executor"]));
    assert_eq!(document["current_phase"], "stage:explore");
}

#[test]
fn hosts_3_explain_reports_what_would_start_and_why_not() {
    let project = used_project();
    let explain = |prompt: &str| project.omx(&["hook", "explain", prompt]).stdout;
    assert!(explain("$ralph mend it").starts_with("Starts ralph. Task: mend it"));
    let text = explain("why did `$ralph` start by itself?");
    assert!(text.starts_with("Starts nothing.") && text.contains("ralph ("), "{text}");
    assert!(explain("cancelomx").starts_with("Cancels"));
    assert!(explain("don't stop until it works").starts_with("Suggests ralph"));
    assert!(!project.root().join(".omx/state/sessions").exists());
}

//! surface.md 6.2a: after an interrupt the next prompts are the person's. Nothing is held
//! until they ask to continue or the agent works on the task again.

use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, context, held, used_project};

/// Starts a ralph, holds it once and interrupts it; a side question is asked.
fn interrupted(conversation: &HostConversation<'_>) {
    conversation.prompt("$ralph mend the parser");
    held(&conversation.stop("is that enough?"));
    let (shown, rest) = conversation.interrupt();
    let answer = conversation.prompt_after(&rest, "what does parser.rs do?");
    let notice = [&shown, &answer].into_iter().find_map(|answer| answer["systemMessage"].as_str());
    let notice = notice.unwrap_or_else(|| panic!("{shown} {answer}"));
    assert!(notice.contains("Ralph is paused") && notice.contains("continue"), "{notice}");
    assert!(context(&answer).contains("continue ralph only if they ask"), "{answer}");
}

fn each(check: impl Fn(&HostConversation<'_>)) {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        interrupted(&conversation);
        check(&conversation);
    }
}

#[test]
fn surface_6_2a_side_questions_after_an_interrupt_are_not_held() {
    each(|conversation| {
        let before = conversation.document("ralph");
        conversation.tool("Read");
        conversation.tool("Bash");
        for question in ["and the lexer?", "show me its tests", "thanks"] {
            assert_eq!(conversation.stop("it parses"), json!({}));
            let answer = conversation.prompt(question);
            assert_eq!(answer.get("systemMessage"), None, "it was said once: {answer}");
        }
        assert_eq!(conversation.stop("welcome"), json!({}));
        assert_eq!(conversation.document("ralph"), before, "nothing was counted");
        let stops = conversation.project.omx(&["status", "--json"]).stdout;
        let status: Value = serde_json::from_str(&stops).unwrap();
        assert_eq!(status["stops"][0]["why"], "interrupted", "{status}");
        assert_eq!(status["active_modes"], json!(["ralph"]));
    });
}

#[test]
fn surface_6_2a_continue_takes_an_interrupted_run_up_again() {
    for words in ["continue", "keep going", "$ralph"] {
        each(|conversation| {
            assert_eq!(conversation.stop("it parses"), json!({}));
            let answer = conversation.prompt(words);
            assert!(answer["systemMessage"].is_string(), "{answer}");
            assert!(context(&answer).contains("phase starting"), "{answer}");
            held(&conversation.stop("working"));
        });
    }
}

#[test]
fn surface_6_2a_an_agent_that_edits_or_writes_state_works_again() {
    each(|conversation| {
        conversation.tool("Edit");
        held(&conversation.stop("changed it as you said"));
    });
    each(|conversation| {
        conversation.write(json!({"mode": "ralph", "current_phase": "executing"}));
        held(&conversation.stop("back at it"));
    });
}

#[test]
fn surface_6_2a_an_interrupted_run_is_cancelled_and_its_pause_ends_with_it() {
    each(|conversation| {
        conversation.prompt("cancelomx");
        assert_eq!(conversation.document("ralph")["run_outcome"], "cancelled");
        assert_eq!(conversation.prompt("hello"), json!({}));
        conversation.prompt("$ralph mend the lexer");
        held(&conversation.stop("a new run is held"));
    });
}

#[test]
fn surface_6_2a_a_compaction_reports_the_pause() {
    each(|conversation| {
        let answer = conversation.event("SessionStart", json!({"source": "compact"}));
        assert!(context(&answer).contains("Ralph is paused"), "{answer}");
    });
}

/// A transcript that is missing, a pipe or without the mark interrupts nothing.
#[test]
fn surface_6_2a_an_unusable_transcript_is_no_interrupt() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let pipe = project.folder().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let broken =
        project.write("broken.jsonl", "{\"type\":\"user\"\n[Request interrupted by user]\n");
    conversation.prompt("$ralph mend the parser");
    for path in [json!(pipe), json!(broken), json!("/nowhere/x"), json!(7), json!("")] {
        let more = json!({"prompt": "what is that?", "transcript_path": path});
        assert_eq!(conversation.event("UserPromptSubmit", more), json!({}), "{path}");
    }
    held(&conversation.stop("held as ever"));
}

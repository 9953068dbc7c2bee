//! What the agent and the person read in a conversation, word for word, in both hosts and
//! both dialects.

use std::fmt::Write as _;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, answer, used_project};

/// A conversation whose every line is kept.
struct Scene<'a> {
    conversation: HostConversation<'a>,
    dialect: &'static str,
    text: String,
}

impl Scene<'_> {
    fn event(&mut self, shown: &str, event: &str, more: Value) -> Value {
        let conversation = &self.conversation;
        let mut command = conversation.command();
        command.env("OMX_DIALECT", self.dialect);
        if conversation.host == HookHost::Claude {
            command.env("AI_AGENT", "claude-code_2-1-197_harness");
        }
        let answer = answer(command, conversation.payload(event, more).to_string().as_bytes());
        let specific = &answer["hookSpecificOutput"]["additionalContext"];
        let lines = match event {
            "Stop" => [("both", specific), ("both", &answer["reason"])],
            _ => [("agent", specific), ("agent", &answer["reason"])],
        };
        writeln!(self.text, "{shown}").unwrap();
        for (reader, text) in lines.into_iter().chain([("person", &answer["systemMessage"])]) {
            if let Some(text) = text.as_str() {
                writeln!(self.text, "  {reader}: {}", mask(text)).unwrap();
            }
        }
        answer
    }

    fn prompt(&mut self, text: &str) {
        self.prompt_with(text, json!({}));
    }

    fn prompt_with(&mut self, text: &str, mut more: Value) {
        more["prompt"] = json!(text);
        self.event(&format!("> {text}"), "UserPromptSubmit", more);
    }

    fn stop(&mut self, words: &str) -> Value {
        self.event("(stop)", "Stop", json!({"last_assistant_message": words}))
    }

    fn omx(&self, args: &[&str]) {
        let project = self.conversation.project;
        let output = project.omx_command(args).env("OMX_DIALECT", self.dialect).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

fn mask(text: &str) -> String {
    (0..60).rev().fold(text.to_owned(), |text, n| text.replace(&format!("{n} s ago"), "AGE ago"))
}

fn conversation_in(project: &TestProject, host: HookHost, dialect: &'static str) -> String {
    let conversation = HostConversation { project, host, session: "s1" };
    let mut scene = Scene { conversation, dialect, text: String::new() };
    let cancel = format!("cancel{dialect}");
    scene.prompt("$ralph fix the parser");
    scene.stop("one");
    let (shown, rest) = match host {
        HookHost::Codex => (scene.event("(Esc)", "Interrupt", json!({})), json!({})),
        HookHost::Claude => scene.conversation.interrupt(),
    };
    assert!(shown.is_object());
    scene.prompt_with("what does parser.rs do?", rest);
    scene.stop("it parses");
    scene.prompt("continue");
    // A bound: nothing changes any more.
    for _ in 0..5 {
        scene.stop("the same");
    }
    scene.prompt("continue");
    scene.prompt(&cancel);
    scene.prompt(&cancel);
    // The limit of iterations.
    scene.omx(&["config", "set", "limits.max_iterations.ralph", "1", "--project"]);
    scene.prompt("$ralph fix the lexer");
    scene.stop("two");
    scene.stop("three");
    scene.prompt("$autopilot build a parser");
    scene.stop("four");
    scene.prompt("/cancel");
    scene.prompt("$autopilot");
    scene.prompt("$autopilot build something else");
    scene.prompt("stop");
    scene.prompt("$ultraqa");
    scene.text
}

#[test]
fn surface_6_2a_the_texts_of_start_hold_bound_cancel_and_resume() {
    let mut all = String::new();
    for host in BOTH {
        for dialect in ["omx", "omc"] {
            let project = used_project();
            let text = conversation_in(&project, host, dialect);
            let other = if dialect == "omx" { "omc" } else { "omx" };
            assert!(!text.contains(other), "{text}");
            writeln!(all, "## {} {dialect}\n{text}", host.name()).unwrap();
        }
    }
    insta::assert_snapshot!("conversation", all);
}

/// No field name, no path and no code word stands in what the host shows the person.
#[test]
fn surface_6_2a_what_the_person_sees_is_plain() {
    for host in BOTH {
        for mode in omx_testkit::MODES {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            let mut scene = Scene { conversation, dialect: "omx", text: String::new() };
            scene.prompt(&format!("${mode} mend the parser"));
            scene.stop("done?");
            let shown: Vec<&str> = scene
                .text
                .lines()
                .filter(|line| line.starts_with("  both: ") || line.starts_with("  person: "))
                .collect();
            assert_eq!(shown.len(), 2, "{}", scene.text);
            for line in shown {
                assert!(!line.contains(['_', '{', '"']), "{line}");
                assert!(line.contains("To stop it, type cancelomx."), "{line}");
            }
            assert!(!scene.text.contains("continue the task"), "{}", scene.text);
        }
    }
}

/// Claude Code calls a decision an error and feedback feedback; versions that are not known
/// to hold for feedback get the decision.
#[test]
fn surface_6_2a_a_hold_is_no_error_where_the_host_has_a_better_word() {
    for (name, is_feedback) in
        [("claude-code_2-1-197_harness", true), ("claude-code_2-1-100", false), ("", false)]
    {
        let project = used_project();
        let conversation =
            HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        let mut command = conversation.command();
        command.env("AI_AGENT", name);
        let payload = conversation.payload("Stop", json!({"last_assistant_message": "x"}));
        let answer = answer(command, payload.to_string().as_bytes());
        let specific = &answer["hookSpecificOutput"];
        assert_eq!(specific["hookEventName"] == "Stop", is_feedback, "{answer}");
        assert_eq!(specific["additionalContext"].is_string(), is_feedback, "{answer}");
        assert_eq!(answer["decision"] == "block", !is_feedback, "{answer}");
    }
}

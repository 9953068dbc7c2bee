//! The fallback without an app-server: the real `codex exec`, behind a program
//! whose app-server is missing or speaks another protocol.

use std::fs;
use std::path::Path;
use std::time::Duration;

use omx_agents::agent::MessageLabels;
use omx_agents::event::Delivery;
use omx_agents::failure::FailureCause;
use omx_agents::{
    Agent, AgentEnv, AgentEvent, AgentLimits, AgentMessage, ConversationId, ConversationStart,
    conversation,
};
use omx_conductor::ask::{AskRequest, AskSession};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::await_condition;
use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::json;

use super::super::cli_stage::{CliProgram, CliStage};
use super::super::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec};
use super::super::play::cue;
use super::super::stage::{DriverStage, OMX};
use super::super::suite::lives;
use super::Codex;

/// Codex as it was before it had an app-server.
const NONE: &str = "[ \"$1\" = app-server ] && { echo 'unknown command' >&2; exit 2; }";
/// Codex with an app-server that speaks another protocol.
const FOREIGN: &str = "[ \"$1\" = app-server ] && { read line; echo '{\"id\":1,\"error\":\
                       {\"code\":-32601,\"message\":\"no method initialize\"}}'; \
                       while read line; do :; done; exit 0; }";

/// The stage of a codex whose app-server is this.
struct OldCodex(CliStage<Codex>);

impl OldCodex {
    fn new(app_server: &str, scripts: impl IntoIterator<Item = ModelScript>) -> Self {
        let server = ModelServer::start(scripts);
        let home = AgentHome::new(AgentCli::Codex, &server).mcp("persons", OMX, &["mcp"]);
        let stage = CliStage::new(server, home);
        let folder = stage.home.folder().join("bin");
        fs::create_dir(&folder).unwrap();
        let codex = AgentCli::Codex.program();
        let text = format!("#!/bin/sh\n{app_server}\nexec {} \"$@\"\n", codex.display());
        omx_testkit::write_program(&folder.join("codex"), &text);
        Self(stage)
    }

    fn agent_env(&self) -> AgentEnv {
        let mut agent_env = self.0.agent_env();
        let path = agent_env.variables.get_mut(Path::new("PATH").as_os_str()).unwrap();
        let mut first = self.0.home.folder().join("bin").into_os_string();
        first.push(":");
        first.push(&path);
        *path = first;
        agent_env
    }

    /// A conversation that is not open yet: it opens with the first message.
    fn chat(
        &self,
        start: ConversationStart,
        allow: AllowLevel,
        limits: AgentLimits,
    ) -> TestConversation {
        let agent_env = self.agent_env();
        let codex = driver(Codex::KIND);
        let installation = codex.find(&agent_env).unwrap();
        assert!(installation.program.ends_with("bin/codex"));
        let spec = conversation_spec(&self.0, start, allow);
        let (sender, events) = std::sync::mpsc::channel();
        let on_event = move |event| {
            let _ = sender.send(event);
        };
        let agent = conversation::open(codex, &installation, &spec, &agent_env, limits, on_event);
        let (agent, seen) = (agent.unwrap(), Vec::new());
        TestConversation { agent, events, seen, allow, id: ConversationId::random() }
    }

    fn new_conversation(&self) -> TestConversation {
        self.chat(ConversationStart::New, AllowLevel::Commands, AgentLimits::default())
    }
}

fn started(chat: &TestConversation) -> ConversationId {
    let ids = chat.seen.iter().filter_map(|event| match event {
        AgentEvent::Started { conversation, .. } => Some(conversation.clone()),
        _ => None,
    });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids.len(), 1, "{:#?}", chat.seen);
    ids[0].clone()
}

/// conductor.md 1.2
#[test]
fn without_an_app_server_turns_use_exec() {
    offline(&[AgentCli::Codex], || {
        for app_server in [NONE, FOREIGN] {
            let write = json!({"mode": "ralph", "session_id": "s", "active": true});
            let full = ModelScript::named("full")
                .write("made.txt", "made\n")
                .shell("cat made.txt > copied.txt; exit 3")
                .mcp("omx", "state_write", write.clone())
                .mcp("persons", "state_write", write)
                .say("all done");
            let old =
                OldCodex::new(app_server, [full, ModelScript::named("after").say("and so on")]);
            let mut chat = old.new_conversation();
            let words = format!("several\nlines \"quoted\" {}", cue("full"));
            assert_eq!(chat.turn(&words).text(), "all done");
            assert_eq!(fs::read_to_string(old.0.root().join("copied.txt")).unwrap(), "made\n");
            assert!(old.0.root().join(".omx/state/sessions/s/ralph-state.json").exists());
            let reported: Vec<String> = chat.seen.iter().map(brief).collect();
            let expected = [
                "listening",
                "started",
                "taken",
                "edit",
                "succeeded",
                "changed made.txt",
                "command",
                "exited 3",
                "tool",
                "succeeded",
                // Nobody can approve.
                "tool",
                "failed",
                "text all done",
                "spent 5000 100",
                "finished",
            ];
            assert_eq!(reported, expected);
            let history = old.0.history("full");
            assert!(history.contains("several\\nlines \\\"quoted\\\""), "{history}");
            started(&chat);
            assert_eq!(chat.turn(&cue("after")).text(), "and so on");
            assert!(old.0.history("after").contains("all done"), "another conversation");
            assert_eq!(chat.seen.iter().map(brief).nth_back(1).unwrap(), "spent 1000 20");
            started(&chat);
            assert_eq!(chat.end(), None);
        }
    });
}

/// A short form of an event.
fn brief(event: &AgentEvent) -> String {
    use omx_agents::event::{ToolAction, ToolOutcome};
    match event {
        AgentEvent::Started { .. } => "started".to_owned(),
        AgentEvent::Listening => "listening".to_owned(),
        AgentEvent::Delivered(Delivery::Turn) => "taken".to_owned(),
        AgentEvent::Text(text) => format!("text {text}"),
        AgentEvent::ToolStarted { tool: ToolAction::Edit(_), .. } => "edit".to_owned(),
        AgentEvent::ToolStarted { tool: ToolAction::Command(_), .. } => "command".to_owned(),
        AgentEvent::ToolStarted { tool: ToolAction::Mcp { .. }, .. } => "tool".to_owned(),
        AgentEvent::ToolFinished { end: ToolOutcome::Exited(code), .. } => format!("exited {code}"),
        AgentEvent::ToolFinished { end: ToolOutcome::Succeeded, .. } => "succeeded".to_owned(),
        AgentEvent::ToolFinished { end: ToolOutcome::Failed, .. } => "failed".to_owned(),
        AgentEvent::FileChanged(path) => {
            format!("changed {}", path.file_name().unwrap().to_str().unwrap())
        }
        AgentEvent::Usage(usage) => format!("spent {} {}", usage.input_tokens, usage.output_tokens),
        AgentEvent::TurnFinished(_) => "finished".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn exec_resumes_an_earlier_conversation() {
    offline(&[AgentCli::Codex], || {
        let scripts = ["first", "second"].map(|name| ModelScript::named(name).say(name));
        let old = OldCodex::new(NONE, scripts);
        let mut chat = old.new_conversation();
        chat.turn(&cue("first"));
        let id = started(&chat);
        assert_eq!(chat.end(), None);

        let mut chat = old.chat(
            ConversationStart::Resume(id.clone()),
            AllowLevel::Commands,
            AgentLimits::default(),
        );
        chat.until("it is open", |event| matches!(event, AgentEvent::Started { .. }));
        assert_eq!(started(&chat), id);
        assert_eq!(chat.turn(&cue("second")).text(), "second");
        assert!(old.0.history("second").contains("[[script:first]]"));
        assert_eq!(chat.end(), None);

        let unknown = ConversationId::new("0192d5a4-7c1e-7abc-8def-0123456789ab").unwrap();
        let mut chat = old.chat(
            ConversationStart::Resume(unknown),
            AllowLevel::Commands,
            AgentLimits::default(),
        );
        assert_eq!(chat.turn(&cue("second")).failure().kind(), "unknown_conversation");
        assert_eq!(chat.over().map(|failure| failure.kind()), Some("unknown_conversation"));
    });
}

/// Messages to a busy agent are queued, and an interrupt ends its whole process tree.
#[test]
fn exec_queues_messages_and_an_interrupt_ends_everything_it_started() {
    offline(&[AgentCli::Codex], || {
        let slow = ModelScript::named("slow").shell("touch near; sleep 1000").say("no");
        let old = OldCodex::new(NONE, [slow, ModelScript::named("after").say("heard you")]);
        let mut chat = old.new_conversation();
        chat.agent.send(AgentMessage::text(cue("slow")));
        await_condition("the command runs", DEADLINE, || old.0.root().join("near").exists());
        chat.agent.steer(&cue("after"));
        chat.until("it waits", |event| *event == AgentEvent::Delivered(Delivery::Queued));
        assert!(lives(&old.0, "sleep 1000"));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert!(!lives(&old.0, "sleep 1000"));
        assert_eq!(chat.turn_end().text(), "heard you");
        assert!(old.0.history("after").contains("[[script:slow]]"), "another conversation");
        assert_eq!(chat.end(), None);
    });
}

/// Where nobody can approve, there is no shell unless commands are allowed.
#[test]
fn exec_has_no_shell_where_only_edits_are_allowed() {
    offline(&[AgentCli::Codex], || {
        let script =
            ModelScript::named("try").write("made.txt", "x").shell("touch ran.txt").say("tried");
        let old = OldCodex::new(NONE, [script]);
        let mut chat = old.chat(ConversationStart::New, AllowLevel::Edits, AgentLimits::default());
        assert_eq!(chat.turn(&cue("try")).text(), "tried");
        assert!(old.0.root().join("made.txt").exists());
        assert!(!old.0.root().join("ran.txt").exists());
        let tools = &old.0.server.turns("try")[0].tools;
        assert!(!tools.iter().any(|tool| tool.contains("exec") || tool.contains("shell")));
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn exec_reports_failures_by_cause_and_continues() {
    offline(&[AgentCli::Codex], || {
        let words = ScriptTurn::new().say("half of it").failing(ScriptedFailure::cut_after(2));
        let old = OldCodex::new(
            NONE,
            [
                ModelScript::named("429").fail(ScriptedFailure::status(429)),
                ModelScript::named("401").fail(ScriptedFailure::status(401)),
                ModelScript::named("500").fail(ScriptedFailure::status(500)),
                ModelScript::named("cut").turn(words),
                ModelScript::named("model").fail(Codex::unknown_model()),
                ModelScript::named("answer").answer(json!({"ok": true})),
            ],
        );
        let mut chat = old.new_conversation();
        for (name, kind) in [
            ("429", "rate_limit"),
            ("401", "not_logged_in"),
            ("500", "service"),
            ("cut", "cut_off"),
            ("model", "unknown_model"),
        ] {
            let failure = chat.turn(&cue(name)).failure();
            assert_eq!(failure.kind(), kind, "{name}: {failure}");
        }
        let again =
            |event: &AgentEvent| matches!(event, AgentEvent::Retrying(t) if t.kind() == "cut_off");
        assert!(chat.seen.iter().any(again), "{:#?}", chat.seen);
        let schema = Some(json!({"type": "object"}));
        chat.agent.send(AgentMessage {
            text: cue("answer"),
            schema,
            labels: MessageLabels::default(),
        });
        let TestTurnEnd::Finished(answer) = chat.turn_end() else { panic!("not finished") };
        assert_eq!(answer.structured, Some(json!({"ok": true})));
        assert_eq!(chat.end(), None);
    });
}

/// Without a first message there is no id; the caller gets the reason in time.
#[test]
fn exec_without_a_first_message_ends_with_the_reason() {
    offline(&[AgentCli::Codex], || {
        let old = OldCodex::new(NONE, []);
        let limits = AgentLimits { start: Duration::from_secs(2), ..AgentLimits::default() };
        let mut chat = old.chat(ConversationStart::New, AllowLevel::Commands, limits);
        let why = chat.over().map(|failure| failure.cause);
        let Some(FailureCause::Protocol { detail }) = why else { panic!("{why:?}") };
        assert!(detail.contains("unknown command"), "{detail}");
    });
}

/// A single prompt returns the answer together with the id.
#[test]
fn exec_answers_a_prompt() {
    offline(&[AgentCli::Codex], || {
        let old = OldCodex::new(NONE, [ModelScript::named("hello").say("hello to you")]);
        let (agent_env, codex) = (old.agent_env(), driver(Codex::KIND));
        let installation = codex.find(&agent_env).unwrap();
        let spec = conversation_spec(&old.0, ConversationStart::New, AllowLevel::Commands);
        let question =
            AskRequest { opening: spec, message: AgentMessage::text(cue("hello")), wants: None };
        let limits = AgentLimits::default();
        let reply =
            AskSession::default().ask(&question, codex, &installation, &agent_env, limits, |_| {});
        let reply = reply.unwrap();
        assert_eq!(reply.text, "hello to you");
        assert!(reply.conversation.is_some());
        assert_eq!(old.0.server.turns("hello").len(), 1);
    });
}

//! What is special to gemini: its retries, its trust in folders, its login methods,
//! and what it does to a resumed conversation.

use std::ffi::OsStr;
use std::fs;
use std::time::{Duration, Instant};

use omx_agents::agent::ApprovalDecision;
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::FailureCause;
use omx_agents::{
    Agent, AgentEnv, AgentEvent, AgentLimits, AgentMessage, Conversation, ConversationId,
    ConversationSpec, ConversationStart, conversation,
};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::json;

use super::Gemini;
use crate::agents::cli_stage::CliStage;
use crate::agents::conversation::{DEADLINE, TestConversation, TestTurnEnd, conversation_spec};
use crate::agents::play::cue;
use crate::agents::stage::{DriverStage, clock};

type GeminiStage = CliStage<Gemini>;

fn here(scripts: impl IntoIterator<Item = ModelScript>) -> GeminiStage {
    let server = ModelServer::start(scripts);
    let home = AgentHome::new(AgentCli::Gemini, &server);
    GeminiStage::new(server, home)
}

/// Opens a conversation in another environment than the stage's and returns its
/// first event.
fn first_event(spec: &ConversationSpec, agent_env: &AgentEnv) -> AgentEvent {
    let driver = driver(GeminiStage::KIND);
    let installation = driver.find(agent_env).unwrap();
    let (sender, events) = std::sync::mpsc::channel();
    let on_event = move |event| {
        let _ = sender.send(event);
    };
    let limits = AgentLimits::default();
    let agent: Conversation =
        conversation::open(driver, &installation, spec, agent_env, limits, on_event).unwrap();
    let first = events.recv_timeout(DEADLINE).expect("something happens");
    agent.end();
    first
}

/// Gemini 0.61 loses a conversation that is loaded by its plain name, within a
/// minute or with the next start; and it replays the whole history.
#[test]
fn a_conversation_can_be_resumed_repeatedly() {
    offline(&[AgentCli::Gemini], || {
        let first =
            ModelScript::named("first").write("a.txt", "a").shell("echo b").say("remembered");
        let stage = here([first, ModelScript::named("more").say("more of it")]);
        let mut chat = TestConversation::new(&stage);
        let words = "the word is plum [[script:first]]";
        assert_eq!(chat.turn(words).text(), "remembered");
        let id = chat.id.clone();
        assert_eq!(chat.end(), None);
        for _ in 0..3 {
            let mut chat = TestConversation::resume(&stage, &id);
            assert_eq!(chat.turn(&cue("more")).text(), "more of it");
            let reported: Vec<_> =
                chat.seen.iter().filter(|event| !matter_of_course(event)).collect();
            assert_eq!(reported, [&AgentEvent::Text("more of it".to_owned())]);
            assert!(stage.history("more").contains("the word is plum"));
            assert_eq!(chat.end(), None);
        }
        assert_eq!(stage.history("more").matches("more of it").count(), 2);
    });
}

/// Events of every turn.
fn matter_of_course(event: &AgentEvent) -> bool {
    matches!(
        event,
        AgentEvent::Started { .. }
            | AgentEvent::Delivered(_)
            | AgentEvent::Usage(_)
            | AgentEvent::TurnFinished(_)
    )
}

#[test]
fn retries_are_reported_and_can_succeed() {
    offline(&[AgentCli::Gemini], || {
        let turn = ScriptTurn::new().say("at last").failing(ScriptedFailure::status(500).times(1));
        let stage = here([ModelScript::named("try").turn(turn)]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("try")).text(), "at last");
        let retried = |event: &&AgentEvent| matches!(event, AgentEvent::Retrying(failure) if failure.kind() == "service");
        assert_eq!(chat.seen.iter().filter(retried).count(), 1, "{:#?}", chat.seen);
        assert_eq!(chat.end(), None);
    });
}

/// On its own gemini would wait for a minute, ten times, in silence.
#[test]
fn a_limit_of_a_minute_is_reported_at_once() {
    offline(&[AgentCli::Gemini], || {
        let limited =
            ModelScript::named("limited").fail(ScriptedFailure::status(429).retry_after(60));
        let stage = here([limited, ModelScript::named("after").say("better now")]);
        let mut chat = TestConversation::new(&stage);
        let begun = (Instant::now(), clock().millis());
        let cause = chat.turn(&cue("limited")).failure().cause;
        assert!(begun.0.elapsed() < Duration::from_secs(20), "{:?}", begun.0.elapsed());
        let FailureCause::RateLimited { until: Some(until), .. } = cause else {
            panic!("{cause:?}")
        };
        let ends = until.millis() - begun.1;
        assert!((60_000..85_000).contains(&ends), "{ends}");
        assert_eq!(stage.answers("limited"), 1);
        assert_eq!(chat.turn(&cue("after")).text(), "better now");
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn an_interrupt_during_a_request_retry_ends_the_turn() {
    offline(&[AgentCli::Gemini], || {
        let failing = ModelScript::named("failing").fail(ScriptedFailure::status(500));
        let stage = here([failing, ModelScript::named("after").say("better now")]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("failing")));
        chat.until("it is tried again", |event| matches!(event, AgentEvent::Retrying(_)));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert_eq!(chat.turn(&cue("after")).text(), "better now");
        assert_eq!(stage.answers("failing"), 1);
        assert_eq!(chat.end(), None);
    });
}

/// In such a folder gemini would work without our MCP server.
#[test]
fn an_untrusted_folder_is_reported_before_any_work() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([]);
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        fs::write(stage.home.home().join(".gemini/settings.json"), settings.to_string()).unwrap();
        let mut agent_env = stage.agent_env();
        agent_env.variables.remove(OsStr::new("GEMINI_CLI_TRUST_WORKSPACE")).unwrap();
        for allow in AllowLevel::ALL {
            let spec = conversation_spec(&stage, ConversationStart::New, allow);
            let first = first_event(&spec, &agent_env);
            let AgentEvent::Ended(Some(failure)) = first else { panic!("{allow:?}: {first:?}") };
            assert_eq!(failure.kind(), "folder_not_trusted", "{allow:?}: {failure}");
        }
        let trusted = json!({stage.root().to_str().unwrap(): "TRUST_FOLDER"});
        let file = stage.home.home().join(".gemini/trustedFolders.json");
        fs::write(file, trusted.to_string()).unwrap();
        for allow in AllowLevel::ALL {
            let spec = conversation_spec(&stage, ConversationStart::New, allow);
            let first = first_event(&spec, &agent_env);
            assert!(matches!(first, AgentEvent::Started { .. }), "{allow:?}: {first:?}");
        }
    });
}

/// Over its protocol gemini needs a login method before it resumes a conversation.
#[test]
fn a_key_in_the_environment_is_enough_to_continue() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([]);
        let settings = stage.home.home().join(".gemini/settings.json");
        fs::remove_file(&settings).unwrap();
        let mut agent_env = stage.agent_env();
        agent_env.variables.remove(OsStr::new("GOOGLE_GEMINI_BASE_URL")).unwrap();
        let new = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
        let first = first_event(&new, &agent_env);
        assert!(matches!(first, AgentEvent::Started { .. }), "{first:?}");
        // Nothing unnecessary is sent: gemini would store it.
        assert!(!settings.exists());
        let id = ConversationId::new("0192d5a4-7c1e-7abc-8def-0123456789ab").unwrap();
        let old = ConversationSpec { start: ConversationStart::Resume(id), ..new };
        let first = first_event(&old, &agent_env);
        let AgentEvent::Ended(Some(failure)) = first else { panic!("{first:?}") };
        // It had an account to use.
        assert_eq!(failure.kind(), "unknown_conversation", "{failure}");
    });
}

/// Gemini forgets an interrupted turn, and the messages before it.
#[test]
fn the_role_is_sent_until_the_conversation_has_it() {
    offline(&[AgentCli::Gemini], || {
        let slow = ScriptTurn::new().say(&"word ".repeat(300)).slowly(Duration::from_millis(200));
        let stage = here([
            ModelScript::named("slow").turn(slow),
            ModelScript::named("second").say("two"),
            ModelScript::named("third").say("three"),
        ]);
        let mut spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
        spec.role = Some("You are a gardener of plums.".to_owned());
        let mut chat = TestConversation::open(&stage, spec);
        chat.agent.send(AgentMessage::text(cue("slow")));
        omx_testkit::await_condition("words", DEADLINE, || stage.is_streaming("slow"));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        for (play, answer) in [("second", "two"), ("third", "three")] {
            assert_eq!(chat.turn(&cue(play)).text(), answer);
            let history = stage.history(play);
            assert_eq!(history.matches("a gardener of plums").count(), 1, "{play}: {history}");
        }
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn a_prompt_that_looks_like_a_command_reaches_the_model() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([ModelScript::named("said").say("I heard")]);
        let mut chat = TestConversation::new(&stage);
        for words in ["/help [[script:said]]", " $about [[script:said]]"] {
            assert_eq!(chat.turn(words).text(), "I heard", "{words}");
        }
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn an_interrupt_during_an_approval_ends_the_turn() {
    offline(&[AgentCli::Gemini], || {
        let ask = ModelScript::named("ask").shell("touch ran.txt").say("no");
        let stage = here([ask, ModelScript::named("after").say("still here")]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::Edits),
        );
        chat.agent.send(AgentMessage::text(cue("ask")));
        chat.until("it asks", |event| matches!(event, AgentEvent::ApprovalNeeded { .. }));
        chat.agent.interrupt();
        assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
        assert_eq!(chat.turn(&cue("after")).text(), "still here");
        assert!(!stage.root().join("ran.txt").exists());
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn with_everything_allowed_nothing_needs_approval() {
    offline(&[AgentCli::Gemini], || {
        let stage =
            here([ModelScript::named("do").write("a.txt", "a").shell("cp a.txt b.txt").say("x")]);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::All),
        );
        assert_eq!(chat.turn(&cue("do")).text(), "x");
        assert_eq!(fs::read_to_string(stage.root().join("b.txt")).unwrap(), "a");
        let requested = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        assert!(!chat.seen.iter().any(requested), "{:#?}", chat.seen);
        assert_eq!(chat.end(), None);
    });
}

/// Gemini's own mode for edits would fetch pages without approval.
#[test]
fn other_tools_need_approval() {
    offline(&[AgentCli::Gemini], || {
        let fetch = json!({"prompt": "read http://127.0.0.1:9/page and tell"});
        let stage = here([ModelScript::named("fetch").call("web_fetch", fetch).say("over")]);
        let mut chat = TestConversation::new(&stage);
        chat.agent.send(AgentMessage::text(cue("fetch")));
        let ask = chat.approval(ApprovalDecision::Deny("no".to_owned()));
        assert!(
            matches!(&ask, ApprovalRequest::Other { what } if what.contains("page")),
            "{ask:?}"
        );
        assert_eq!(chat.turn_end().text(), "over");
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn no_edit_escapes_the_folder() {
    offline(&[AgentCli::Gemini], || {
        let out = ModelScript::named("out").write("link/made.txt", "x").write("../made.txt", "x");
        let stage = here([out.say("over")]);
        let outside = stage.home.folder().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, stage.root().join("link")).unwrap();
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("out")).text(), "over");
        assert_eq!(stage.answers("out"), 3);
        assert!(!outside.join("made.txt").exists());
        assert!(!stage.root().parent().unwrap().join("made.txt").exists());
        assert_eq!(chat.end(), None);
    });
}

/// With an MCP server gemini does not exit when its input is closed.
#[test]
fn ending_is_quick() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([ModelScript::named("hello").say("hello")]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("hello")).text(), "hello");
        let begun = Instant::now();
        assert_eq!(chat.end(), None);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    });
}

//! What is special to gemini: its retries, its trust in folders, its ways to
//! log in, and what it does to a conversation that is gone on with.

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
use omx_testkit::model::{ModelServer, Script, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::json;

use super::cli_stage::CliStage;
use super::gemini::Gemini;
use super::play::cue;
use super::stage::{Stage, clock};
use super::talk::{DEADLINE, Talk, Turned, opening};

type Here = CliStage<Gemini>;

fn here(scripts: impl IntoIterator<Item = Script>) -> Here {
    let server = ModelServer::start(scripts);
    let home = AgentHome::new(AgentCli::Gemini, &server);
    Here::new(server, home)
}

/// Opens a conversation in another world than the stage's; tells its first event.
fn first_event(opening: &ConversationSpec, surroundings: &AgentEnv) -> AgentEvent {
    let driver = driver(Here::KIND);
    let installation = driver.find(surroundings).unwrap();
    let (sender, events) = std::sync::mpsc::channel();
    let tell = move |event| {
        let _ = sender.send(event);
    };
    let limits = AgentLimits::default();
    let agent: Conversation =
        conversation::open(driver, &installation, opening, surroundings, limits, tell).unwrap();
    let first = events.recv_timeout(DEADLINE).expect("something happens");
    agent.end();
    first
}

/// Gemini 0.61 loses a conversation that is loaded by its plain name, within a
/// minute or with the next start; and it tells all of the history again.
#[test]
fn a_conversation_is_gone_on_with_again_and_again() {
    offline(&[AgentCli::Gemini], || {
        let first = Script::named("first").write("a.txt", "a").shell("echo b").say("remembered");
        let stage = here([first, Script::named("more").say("more of it")]);
        let mut talk = Talk::new(&stage);
        let words = "the word is plum [[script:first]]";
        assert_eq!(talk.turn(words).text(), "remembered");
        let id = talk.id.clone();
        assert_eq!(talk.end(), None);
        for _ in 0..3 {
            let mut talk = Talk::resume(&stage, &id);
            assert_eq!(talk.turn(&cue("more")).text(), "more of it");
            let told: Vec<_> = talk.seen.iter().filter(|event| !matter_of_course(event)).collect();
            assert_eq!(told, [&AgentEvent::Text("more of it".to_owned())]);
            assert!(stage.history("more").contains("the word is plum"));
            assert_eq!(talk.end(), None);
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
fn what_is_tried_again_is_told_and_may_succeed() {
    offline(&[AgentCli::Gemini], || {
        let turn = ScriptTurn::new().say("at last").failing(ScriptedFailure::status(500).times(1));
        let stage = here([Script::named("try").turn(turn)]);
        let mut talk = Talk::new(&stage);
        assert_eq!(talk.turn(&cue("try")).text(), "at last");
        let retried = |event: &&AgentEvent| matches!(event, AgentEvent::Retrying(trouble) if trouble.kind() == "service");
        assert_eq!(talk.seen.iter().filter(retried).count(), 1, "{:#?}", talk.seen);
        assert_eq!(talk.end(), None);
    });
}

/// Gemini itself would wait for a minute, ten times, without a word.
#[test]
fn a_limit_of_a_minute_is_told_at_once() {
    offline(&[AgentCli::Gemini], || {
        let limited = Script::named("limited").fail(ScriptedFailure::status(429).retry_after(60));
        let stage = here([limited, Script::named("after").say("better now")]);
        let mut talk = Talk::new(&stage);
        let begun = (Instant::now(), clock().millis());
        let cause = talk.turn(&cue("limited")).trouble().cause;
        assert!(begun.0.elapsed() < Duration::from_secs(20), "{:?}", begun.0.elapsed());
        let FailureCause::RateLimited { until: Some(until), .. } = cause else {
            panic!("{cause:?}")
        };
        let ends = until.millis() - begun.1;
        assert!((60_000..85_000).contains(&ends), "{ends}");
        assert_eq!(stage.answers("limited"), 1);
        assert_eq!(talk.turn(&cue("after")).text(), "better now");
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn an_interrupt_while_a_request_is_tried_again_ends_the_turn() {
    offline(&[AgentCli::Gemini], || {
        let failing = Script::named("failing").fail(ScriptedFailure::status(500));
        let stage = here([failing, Script::named("after").say("better now")]);
        let mut talk = Talk::new(&stage);
        talk.agent.send(AgentMessage::text(cue("failing")));
        talk.until("it is tried again", |event| matches!(event, AgentEvent::Retrying(_)));
        talk.agent.interrupt();
        assert_eq!(talk.turn_end(), Turned::Interrupted);
        assert_eq!(talk.turn(&cue("after")).text(), "better now");
        assert_eq!(stage.answers("failing"), 1);
        assert_eq!(talk.end(), None);
    });
}

/// In such a folder gemini would work without our MCP server.
#[test]
fn a_folder_nobody_trusts_is_told_before_any_work() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([]);
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        fs::write(stage.home.home().join(".gemini/settings.json"), settings.to_string()).unwrap();
        let mut surroundings = stage.surroundings();
        surroundings.variables.remove(OsStr::new("GEMINI_CLI_TRUST_WORKSPACE")).unwrap();
        for allow in AllowLevel::ALL {
            let opening = opening(&stage, ConversationStart::New, allow);
            let first = first_event(&opening, &surroundings);
            let AgentEvent::Ended(Some(trouble)) = first else { panic!("{allow:?}: {first:?}") };
            assert_eq!(trouble.kind(), "folder_not_trusted", "{allow:?}: {trouble}");
        }
        let trusted = json!({stage.root().to_str().unwrap(): "TRUST_FOLDER"});
        let file = stage.home.home().join(".gemini/trustedFolders.json");
        fs::write(file, trusted.to_string()).unwrap();
        for allow in AllowLevel::ALL {
            let opening = opening(&stage, ConversationStart::New, allow);
            let first = first_event(&opening, &surroundings);
            assert!(matches!(first, AgentEvent::Started { .. }), "{allow:?}: {first:?}");
        }
    });
}

/// Over its protocol gemini wants to be told how it logs in before it goes on
/// with a conversation.
#[test]
fn a_key_in_the_environment_is_enough_to_go_on() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([]);
        let settings = stage.home.home().join(".gemini/settings.json");
        fs::remove_file(&settings).unwrap();
        let mut surroundings = stage.surroundings();
        surroundings.variables.remove(OsStr::new("GOOGLE_GEMINI_BASE_URL")).unwrap();
        let new = opening(&stage, ConversationStart::New, AllowLevel::Commands);
        let first = first_event(&new, &surroundings);
        assert!(matches!(first, AgentEvent::Started { .. }), "{first:?}");
        // Nothing is told that need not be: gemini would keep it.
        assert!(!settings.exists());
        let id = ConversationId::new("0192d5a4-7c1e-7abc-8def-0123456789ab").unwrap();
        let old = ConversationSpec { start: ConversationStart::Resume(id), ..new };
        let first = first_event(&old, &surroundings);
        let AgentEvent::Ended(Some(trouble)) = first else { panic!("{first:?}") };
        // It had an account to look with.
        assert_eq!(trouble.kind(), "unknown_conversation", "{trouble}");
    });
}

/// Gemini forgets a turn that was interrupted, and with it what was said before.
#[test]
fn the_role_is_told_until_it_is_remembered() {
    offline(&[AgentCli::Gemini], || {
        let slow = ScriptTurn::new().say(&"word ".repeat(300)).slowly(Duration::from_millis(200));
        let stage = here([
            Script::named("slow").turn(slow),
            Script::named("second").say("two"),
            Script::named("third").say("three"),
        ]);
        let mut opening = opening(&stage, ConversationStart::New, AllowLevel::Commands);
        opening.role = Some("You are a gardener of plums.".to_owned());
        let mut talk = Talk::open(&stage, opening);
        talk.agent.send(AgentMessage::text(cue("slow")));
        omx_testkit::await_condition("words", DEADLINE, || stage.is_streaming("slow"));
        talk.agent.interrupt();
        assert_eq!(talk.turn_end(), Turned::Interrupted);
        for (play, answer) in [("second", "two"), ("third", "three")] {
            assert_eq!(talk.turn(&cue(play)).text(), answer);
            let history = stage.history(play);
            assert_eq!(history.matches("a gardener of plums").count(), 1, "{play}: {history}");
        }
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn words_that_look_like_a_command_are_said_to_the_model() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([Script::named("said").say("I heard")]);
        let mut talk = Talk::new(&stage);
        for words in ["/help [[script:said]]", " $about [[script:said]]"] {
            assert_eq!(talk.turn(words).text(), "I heard", "{words}");
        }
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn an_interrupt_while_an_approval_waits_ends_the_turn() {
    offline(&[AgentCli::Gemini], || {
        let ask = Script::named("ask").shell("touch ran.txt").say("no");
        let stage = here([ask, Script::named("after").say("still here")]);
        let mut talk =
            Talk::open(&stage, opening(&stage, ConversationStart::New, AllowLevel::Edits));
        talk.agent.send(AgentMessage::text(cue("ask")));
        talk.until("it asks", |event| matches!(event, AgentEvent::ApprovalNeeded { .. }));
        talk.agent.interrupt();
        assert_eq!(talk.turn_end(), Turned::Interrupted);
        assert_eq!(talk.turn(&cue("after")).text(), "still here");
        assert!(!stage.root().join("ran.txt").exists());
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn with_everything_allowed_nothing_is_asked() {
    offline(&[AgentCli::Gemini], || {
        let stage =
            here([Script::named("do").write("a.txt", "a").shell("cp a.txt b.txt").say("x")]);
        let mut talk = Talk::open(&stage, opening(&stage, ConversationStart::New, AllowLevel::All));
        assert_eq!(talk.turn(&cue("do")).text(), "x");
        assert_eq!(fs::read_to_string(stage.root().join("b.txt")).unwrap(), "a");
        let asked = |event: &AgentEvent| matches!(event, AgentEvent::ApprovalNeeded { .. });
        assert!(!talk.seen.iter().any(asked), "{:#?}", talk.seen);
        assert_eq!(talk.end(), None);
    });
}

/// Gemini's own mode for edits would fetch pages unasked.
#[test]
fn what_is_neither_an_edit_nor_a_command_is_asked_about() {
    offline(&[AgentCli::Gemini], || {
        let fetch = json!({"prompt": "read http://127.0.0.1:9/page and tell"});
        let stage = here([Script::named("fetch").call("web_fetch", fetch).say("over")]);
        let mut talk = Talk::new(&stage);
        talk.agent.send(AgentMessage::text(cue("fetch")));
        let ask = talk.approval(ApprovalDecision::Deny("no".to_owned()));
        assert!(
            matches!(&ask, ApprovalRequest::Other { what } if what.contains("page")),
            "{ask:?}"
        );
        assert_eq!(talk.turn_end().text(), "over");
        assert_eq!(talk.end(), None);
    });
}

#[test]
fn no_edit_leaves_the_folder() {
    offline(&[AgentCli::Gemini], || {
        let out = Script::named("out").write("link/made.txt", "x").write("../made.txt", "x");
        let stage = here([out.say("over")]);
        let outside = stage.home.folder().join("outside");
        fs::create_dir(&outside).unwrap();
        std::os::unix::fs::symlink(&outside, stage.root().join("link")).unwrap();
        let mut talk = Talk::new(&stage);
        assert_eq!(talk.turn(&cue("out")).text(), "over");
        assert_eq!(stage.answers("out"), 3);
        assert!(!outside.join("made.txt").exists());
        assert!(!stage.root().parent().unwrap().join("made.txt").exists());
        assert_eq!(talk.end(), None);
    });
}

/// With an MCP server gemini does not leave when its input is closed.
#[test]
fn the_end_is_quick() {
    offline(&[AgentCli::Gemini], || {
        let stage = here([Script::named("hello").say("hello")]);
        let mut talk = Talk::new(&stage);
        assert_eq!(talk.turn(&cue("hello")).text(), "hello");
        let begun = Instant::now();
        assert_eq!(talk.end(), None);
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    });
}

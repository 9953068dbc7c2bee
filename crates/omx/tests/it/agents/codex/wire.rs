//! What codex receives, what it requests from its service, and what it leaves alone.

use std::fs;
use std::process::Command;

use omx_agents::agent::MessageLabels;
use omx_agents::failure::FailureCause;
use omx_agents::{Agent, AgentEvent, AgentMessage, ConversationStart};
use omx_kernel::approval::AllowLevel;
use omx_rehearsal::driver;
use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};
use serde_json::{Value, json};

use super::super::cli_stage::{CliProgram, CliStage};
use super::super::conversation::{TestConversation, TestTurnEnd, conversation_spec};
use super::super::play::cue;
use super::super::stage::DriverStage;
use super::{Codex, limited_in_words, stage};

fn schema() -> Value {
    json!({
        "type": "object", "properties": {"ok": {"type": "boolean"}},
        "required": ["ok"], "additionalProperties": false
    })
}

fn with_schema(words: &str) -> AgentMessage {
    AgentMessage {
        text: words.to_owned(),
        schema: Some(schema()),
        labels: MessageLabels::default(),
    }
}

/// conductor.md 4.1
#[test]
fn a_turn_with_a_schema_returns_an_object() {
    offline(&[AgentCli::Codex], || {
        let right = ModelScript::named("right").answer(json!({"ok": true}));
        let wrong = ModelScript::named("wrong").say("no object here");
        let free = ModelScript::named("free").say("{\"ok\": false}");
        let stage = stage([right, wrong, free]);
        let mut chat = TestConversation::new(&stage);
        let mut answer = |message| {
            chat.agent.send(message);
            match chat.turn_end() {
                TestTurnEnd::Finished(answer) => (answer.text, answer.structured),
                other => panic!("{other:?}"),
            }
        };
        let structured = Some(json!({"ok": true}));
        assert_eq!(answer(with_schema(&cue("right"))), ("{\"ok\":true}".to_owned(), structured));
        assert_eq!(answer(with_schema(&cue("wrong"))), ("no object here".to_owned(), None));
        let free = answer(AgentMessage::text(cue("free")));
        assert_eq!(free, ("{\"ok\": false}".to_owned(), None));
        for (name, asked) in [("right", true), ("wrong", true), ("free", false)] {
            let body = &stage.server.turns(name)[0].body;
            let schema = asked.then(schema).unwrap_or_default();
            assert_eq!(body["text"]["format"]["schema"], schema, "{name}");
        }
        assert_eq!(chat.end(), None);
    });
}

/// The role is present from the first turn on, exactly once, also after the
/// conversation is resumed.
#[test]
fn the_role_and_the_model_reach_the_service() {
    offline(&[AgentCli::Codex], || {
        let stage = stage([ModelScript::named("a").say("one"), ModelScript::named("b").say("two")]);
        let role = "You are the reviewer of plums.";
        let mut spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
        spec.role = Some(role.to_owned());
        spec.model = Some("gpt-plum".to_owned());
        let mut chat = TestConversation::open(&stage, spec.clone());
        let started = AgentEvent::Started {
            conversation: chat.id.clone(),
            model: Some("gpt-plum".to_owned()),
        };
        assert_eq!(chat.seen, [started]);
        assert_eq!(chat.turn(&cue("a")).text(), "one");
        let id = chat.id.clone();
        assert_eq!(chat.end(), None);
        spec.start = ConversationStart::Resume(id);
        let mut chat = TestConversation::open(&stage, spec);
        assert_eq!(chat.turn(&cue("b")).text(), "two");
        for name in ["a", "b"] {
            let body = &stage.server.turns(name)[0].body;
            assert_eq!(body["model"], "gpt-plum");
            let developer = body["input"].as_array().unwrap().iter();
            let developer = developer.filter(|item| item["role"] == "developer");
            let reported: String = developer.map(|item| item["content"].to_string()).collect();
            assert_eq!(reported.matches(role).count(), 1, "{reported}");
        }
        assert_eq!(chat.end(), None);
    });
}

/// A resumed conversation does not report earlier usage again.
#[test]
fn usage_is_reported_once() {
    offline(&[AgentCli::Codex], || {
        let turn = |input, output| ScriptTurn::new().say("spent").usage(input, output);
        let first = ModelScript::named("first").turn(turn(1000, 20));
        let second = ModelScript::named("second").turn(turn(500, 7));
        let stage = stage([first, second]);
        let usage = |chat: &TestConversation| -> Vec<(u64, u64)> {
            let usage = chat.seen.iter().filter_map(|event| match event {
                AgentEvent::Usage(usage) => Some((usage.input_tokens, usage.output_tokens)),
                _ => None,
            });
            usage.collect()
        };
        let mut chat = TestConversation::new(&stage);
        chat.turn(&cue("first"));
        chat.turn(&cue("second"));
        assert_eq!(usage(&chat), [(1000, 20), (500, 7)]);
        let id = chat.id.clone();
        assert_eq!(chat.end(), None);
        let mut chat = TestConversation::resume(&stage, &id);
        chat.turn(&cue("second"));
        assert_eq!(usage(&chat), [(500, 7)]);
        assert_eq!(chat.end(), None);
    });
}

#[test]
fn codex_retries_are_reported_and_the_turn_continues() {
    offline(&[AgentCli::Codex], || {
        let shaky =
            ScriptTurn::new().say("at last").failing(ScriptedFailure::cut_after(2).times(1));
        let stage = stage([ModelScript::named("shaky").turn(shaky)]);
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("shaky")).text(), "at last");
        let again = chat.seen.iter().filter_map(|event| match event {
            AgentEvent::Retrying(failure) => Some(failure.kind()),
            _ => None,
        });
        assert_eq!(again.collect::<Vec<_>>(), ["cut_off"]);
        assert_eq!(chat.end(), None);
    });
}

/// Without the exact headers the moment is read from codex's sentence, whose
/// clock shows no seconds: the end of that minute.
#[test]
fn a_limit_described_only_in_text_has_an_end() {
    offline(&[AgentCli::Codex], || {
        for zone in ["UTC", "Asia/Kolkata", "America/Phoenix"] {
            let limited = ModelScript::named("limited").fail(limited_in_words(1_900_000_000));
            let server = ModelServer::start([limited]);
            let home = AgentHome::new(AgentCli::Codex, &server).env("TZ", zone);
            let stage = CliStage::<Codex>::new(server, home);
            let mut chat = TestConversation::new(&stage);
            let cause = chat.turn(&cue("limited")).failure().cause;
            let FailureCause::RateLimited { until: Some(until), .. } = cause else {
                panic!("{cause:?}")
            };
            assert_eq!(until.to_string(), "2030-03-17T17:47:00.000Z", "{zone}");
            assert_eq!(chat.end(), None);
        }
    });
}

/// On its own codex would retry forever.
#[test]
fn an_unreachable_service_ends_the_turn() {
    offline(&[AgentCli::Codex], || {
        let stage = CliStage::<Codex>::without_vendor();
        let settings = stage.home.home().join(".codex/config.toml");
        let text = fs::read_to_string(&settings).unwrap();
        let own = text.replace("unbounded_connection_retries = false\n", "");
        assert_ne!(own, text);
        fs::write(&settings, own).unwrap();
        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn("anybody there?").failure().kind(), "network");
        assert_eq!(chat.end(), None);
    });
}

/// On its own codex would mark the folder as trusted in the person's settings.
#[test]
fn the_persons_settings_stay_unchanged() {
    offline(&[AgentCli::Codex], || {
        let script = ModelScript::named("make").write("made.txt", "x").shell("true").say("made");
        let stage = stage([script]);
        let main = stage.home.folder().join("main");
        let tree = stage.home.folder().join("tree");
        let git = |args: &[&str]| {
            let identity = ["-c", "user.name=t", "-c", "user.email=t@t"];
            let status = Command::new("git").args(identity).args(args).current_dir(&main).status();
            assert!(status.unwrap().success(), "git {args:?}");
        };
        fs::create_dir(&main).unwrap();
        git(&["init", "--quiet"]);
        git(&["commit", "--quiet", "--allow-empty", "-m", "first"]);
        git(&["worktree", "add", "--quiet", tree.to_str().unwrap()]);
        let settings = stage.home.home().join(".codex/config.toml");
        let before = fs::read_to_string(&settings).unwrap();
        for (folder, allow) in
            [(&tree, AllowLevel::Commands), (&tree, AllowLevel::All), (&main, AllowLevel::Edits)]
        {
            let mut spec = conversation_spec(&stage, ConversationStart::New, allow);
            spec.folder = folder.clone();
            let mut chat = TestConversation::open(&stage, spec);
            assert_eq!(chat.turn(&cue("make")).text(), "made");
            assert!(folder.join("made.txt").exists());
            fs::remove_file(folder.join("made.txt")).unwrap();
            assert_eq!(chat.end(), None);
            assert_eq!(fs::read_to_string(&settings).unwrap(), before, "{folder:?} {allow:?}");
        }
    });
}

/// Codex's app-server takes no key from the environment; it is given one that
/// stays in its memory.
#[test]
fn a_key_in_the_environment_counts_as_an_account() {
    offline(&[AgentCli::Codex], || {
        let server = ModelServer::start([ModelScript::named("hello").say("hello")]);
        let home =
            AgentHome::new(AgentCli::Codex, &server).env("OPENAI_API_KEY", "sk-of-the-person");
        let stage = CliStage::<Codex>::new(server, home);
        let settings = stage.home.home().join(".codex/config.toml");
        let text = fs::read_to_string(&settings).unwrap();
        let own = format!("openai_base_url = \"{}/v1\"", stage.server.url());
        let text = text.replace("model_provider = \"scripted\"", &own);
        fs::write(&settings, text).unwrap();

        let mut chat = TestConversation::new(&stage);
        assert_eq!(chat.turn(&cue("hello")).text(), "hello");
        let requested = &stage.server.turns("hello")[0];
        assert_eq!(requested.header("authorization"), Some("Bearer sk-of-the-person"));
        assert_eq!(chat.end(), None);
        let mut search = Command::new("grep");
        let found = search.args(["-rl", "sk-of-the-person"]).arg(stage.home.home()).output();
        assert_eq!(String::from_utf8_lossy(&found.unwrap().stdout), "");

        let mut agent_env = stage.agent_env();
        agent_env.variables.remove(std::ffi::OsStr::new("OPENAI_API_KEY"));
        let failure = driver(Codex::KIND).find(&agent_env).unwrap_err();
        assert_eq!(failure.kind(), "not_logged_in");
    });
}

/// Codex receives only what it needs: the key its settings name, no other secret.
#[test]
fn unrelated_secrets_do_not_reach_codex() {
    offline(&[AgentCli::Codex], || {
        let script = ModelScript::named("env").shell("env > env.txt").say("looked");
        let server = ModelServer::start([script]);
        let home = AgentHome::new(AgentCli::Codex, &server)
            .env("GITHUB_TOKEN", "of-github")
            .env("CODEX_THREAD_ID", "of-another-codex")
            .env("OTHER_HEADER", "wanted")
            .codex_config(
                "[model_providers.other]\nname = \"other\"\nenv_http_headers = {\"X-O\" = \"OTHER_HEADER\"}\n",
            );
        let stage = CliStage::<Codex>::new(server, home);
        let mut chat = TestConversation::open(
            &stage,
            conversation_spec(&stage, ConversationStart::New, AllowLevel::All),
        );
        assert_eq!(chat.turn(&cue("env")).text(), "looked");
        let seen = fs::read_to_string(stage.root().join("env.txt")).unwrap();
        assert!(seen.contains("OTHER_HEADER=wanted"), "{seen}");
        assert!(!seen.contains("of-github") && !seen.contains("of-another-codex"), "{seen}");
        assert_eq!(chat.end(), None);
    });
}

/// conductor.md 5.4
#[test]
fn unreadable_codex_settings_are_reported_with_their_location() {
    offline(&[AgentCli::Codex], || {
        let stage = stage([]);
        let settings = stage.home.home().join(".codex/config.toml");
        fs::write(&settings, "model_provider = 'openai'\n[[[").unwrap();
        fs::write(stage.home.home().join(".codex/auth.json"), "{}").unwrap();
        let spec = conversation_spec(&stage, ConversationStart::New, AllowLevel::Commands);
        let (_agent, events) =
            super::super::conversation::start(&stage, &spec, omx_agents::AgentLimits::default());
        let over = events.iter().last();
        let Some(AgentEvent::Ended(Some(failure))) = over else { panic!("{over:?}") };
        assert_eq!(failure.kind(), "cannot_start");
        assert!(failure.to_string().contains("config.toml:2:3"), "{failure}");
    });
}

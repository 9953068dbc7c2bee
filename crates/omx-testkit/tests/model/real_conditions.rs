//! The real agent programs when things go wrong, and the walls around them.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::TcpStream;

use omx_testkit::model::{ModelScript, ModelServer, ScriptTurn, ScriptedFailure};
use omx_testkit::real_cli::{AgentCli, AgentHome, offline};

/// A server whose only turn fails once in this way.
fn failing_once(failure: ScriptedFailure) -> ModelServer {
    let turn = ScriptTurn::new().say("recovered").usage(77, 5).failing(failure.times(1));
    ModelServer::start([ModelScript::named("once").turn(turn)])
}

#[test]
fn codex_recovers_from_a_rate_limit() {
    offline(&[AgentCli::Codex], || {
        let server = failing_once(ScriptedFailure::status(429).retry_after(1));
        let run = AgentHome::new(AgentCli::Codex, &server).headless("go [[script:once]]", &[]);
        assert_eq!(run.outcome.code, Some(0), "{run:#?}");
        assert_eq!(run.final_text(), "recovered");
        assert_eq!(run.only("turn.completed")["usage"]["input_tokens"], 77);
        let text_seen = run.only("error")["message"].as_str().unwrap();
        assert!(text_seen.contains("429"), "{text_seen}");
        assert_eq!(server.seen(), ["once/0 429", "once/0"]);
    });
}

/// A limit that does not say when it ends is final for Codex.
#[test]
fn codex_gives_up_on_other_limits() {
    offline(&[AgentCli::Codex], || {
        let server = failing_once(ScriptedFailure::status(429));
        let run = AgentHome::new(AgentCli::Codex, &server).headless("go [[script:once]]", &[]);
        assert_eq!(run.outcome.code, Some(1), "{run:#?}");
        assert_eq!(server.seen(), ["once/0 429"]);

        let limit =
            ScriptedFailure::status(429).code("usage_limit_reached").resets_at(1_900_000_000);
        let server = failing_once(limit);
        let run = AgentHome::new(AgentCli::Codex, &server).headless("go [[script:once]]", &[]);
        assert_eq!(run.outcome.code, Some(1), "{run:#?}");
        let text_seen = run.only("turn.failed")["error"]["message"].as_str().unwrap();
        assert!(text_seen.contains("usage limit") && text_seen.contains("2030"), "{text_seen}");
        assert_eq!(server.seen(), ["once/0 429"]);
    });
}

#[test]
fn claude_recovers_from_a_rate_limit_when_configured_to() {
    offline(&[AgentCli::Claude], || {
        let server = failing_once(ScriptedFailure::status(429).retry_after(1));
        let run = AgentHome::new(AgentCli::Claude, &server).headless("go [[script:once]]", &[]);
        assert_eq!(run.outcome.code, Some(0), "{run:#?}");
        assert_eq!(run.final_text(), "recovered");
        assert_eq!(run.only("result")["usage"]["input_tokens"], 77);
        let system = run.of_type("system");
        let retry = system.iter().find(|event| event["subtype"] == "api_retry").unwrap();
        assert_eq!((&retry["error_status"], &retry["retry_delay_ms"]), (&429.into(), &1000.into()));
        assert_eq!(server.seen(), ["HEAD /", "once/0 429", "once/0"]);
    });
}

#[test]
fn both_retry_when_a_stream_breaks() {
    offline(&[AgentCli::Codex, AgentCli::Claude], || {
        for cli in [AgentCli::Codex, AgentCli::Claude] {
            let server = failing_once(ScriptedFailure::cut_after(2));
            let run = AgentHome::new(cli, &server).headless("go [[script:once]]", &[]);
            assert_eq!(run.outcome.code, Some(0), "{run:#?}");
            assert_eq!(run.final_text(), "recovered");
            let seen = server.turns("once").iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(seen, ["once/0 broken", "once/0"], "{cli:?}");
        }
    });
}

#[test]
fn an_agent_without_a_script_fails_at_once() {
    offline(&[AgentCli::Codex, AgentCli::Claude], || {
        for cli in [AgentCli::Codex, AgentCli::Claude] {
            let server = ModelServer::start([]);
            let run = AgentHome::new(cli, &server).headless("go [[script:none]]", &[]);
            assert_eq!(run.outcome.code, Some(1), "{run:#?}");
            assert!(run.outcome.stdout.contains("no script none"), "{run:#?}");
            assert_eq!(server.seen().last().unwrap(), "stray: no script none 400");
        }
    });
}

#[test]
fn agents_have_loopback_only_and_a_clean_environment() {
    offline(&[], || {
        let error = TcpStream::connect(("192.0.2.1", 80)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
        let server = ModelServer::start([]);
        TcpStream::connect(server.address()).expect("loopback is up");
        let home = AgentHome::new(AgentCli::Codex, &server).env("MORE", "1");
        let output = home.command("env").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let names: BTreeSet<&str> =
            text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        let expected =
            ["HOME", "LANG", "MORE", "PATH", "SCRIPTED_KEY", "SHELL", "TERM", "TMPDIR", "USER"];
        assert_eq!(names, BTreeSet::from(expected));
        assert!(text.contains(&format!("HOME={}", home.home().display())), "{text}");
    });
}

/// Inside, the other words are said; outside, those of `offline`.
#[test]
#[should_panic(expected = "offline_reports_a_failure without a network")]
fn offline_reports_a_failure() {
    offline(&[], || panic!("what failed inside"));
}

//! The real agent programs, each in a whole headless turn: its own tool that
//! writes a file, its shell, a tool of an MCP server. Then structured answers
//! and conversations that are taken up again.

use std::fs;

use omx_testkit::in_parallel;
use omx_testkit::model::{ModelRequest, ModelScript, ModelServer, ScriptTurn};
use omx_testkit::real_cli::{AgentCli, AgentHome, AgentRun, offline};
use serde_json::{Value, json};

/// A server for a full turn, and a home with the MCP server it needs.
fn full(cli: AgentCli) -> (ModelServer, AgentHome) {
    let script = ModelScript::named("full")
        .write("made.txt", "line one\nline two\n")
        .shell("cat made.txt > copied.txt")
        .mcp("tiny", "add", json!({"a": 2, "b": 40}))
        .say("all three done");
    let server = ModelServer::start([script]);
    let home = AgentHome::new(cli, &server).mcp("tiny", env!("CARGO_BIN_EXE_tiny-mcp"), &[]);
    (server, home)
}

/// What must hold after a full turn, whoever played it.
#[track_caller]
fn check_full(home: &AgentHome, run: &AgentRun) {
    assert_eq!(run.outcome.code, Some(0), "{run:#?}");
    assert_eq!(home.read("made.txt"), "line one\nline two\n");
    assert_eq!(home.read("copied.txt"), "line one\nline two\n");
    assert!(run.outcome.stdout.contains("sum=42"), "{run:#?}");
    assert_eq!(run.final_text(), "all three done");
}

/// The distinct paths of a server's requests, with their methods.
fn paths(requests: &[ModelRequest]) -> Vec<String> {
    let mut paths: Vec<String> =
        requests.iter().map(|one| format!("{} {}?{}", one.method, one.path, one.query)).collect();
    paths.dedup();
    paths
}

#[test]
fn codex_plays_a_full_turn() {
    offline(&[AgentCli::Codex], || {
        let (server, home) = full(AgentCli::Codex);
        assert_eq!(home.version(), "codex-cli 0.166.0");
        let run = home.headless("go [[script:full]]", &[]);
        check_full(&home, &run);
        assert_eq!(server.seen(), ["full/0", "full/1", "full/2", "full/3"]);
        let requests = server.requests();
        assert_eq!(paths(&requests), ["POST /v1/responses?"]);
        let thread = &run.only("thread.started")["thread_id"];
        for request in &requests {
            let about = request.codex();
            assert_eq!((&about["session_id"], &about["request_kind"]), (thread, &"turn".into()));
            assert!(request.tools.iter().any(|tool| tool == "apply_patch"), "{request:#?}");
        }
        let items = run.of_type("item.completed").into_iter().map(|event| &event["item"]["type"]);
        let kinds: Vec<&Value> = items.collect();
        assert_eq!(kinds, ["file_change", "command_execution", "mcp_tool_call", "agent_message"]);
        assert_eq!(run.only("turn.completed")["usage"]["input_tokens"], 4000);
    });
}

#[test]
fn claude_plays_a_full_turn() {
    offline(&[AgentCli::Claude], || {
        let (server, home) = full(AgentCli::Claude);
        assert_eq!(home.version(), "2.1.197 (Claude Code)");
        let run = home.headless("go [[script:full]]", &[]);
        check_full(&home, &run);
        assert_eq!(server.seen(), ["HEAD /", "full/0", "full/1", "full/2", "full/3"]);
        let requests = server.requests();
        assert_eq!(paths(&requests), ["HEAD /?", "POST /v1/messages?beta=true"]);
        let tool = "mcp__tiny__add";
        assert!(server.turns("full").iter().all(|one| one.tools.iter().any(|name| name == tool)));
        let result = run.only("result");
        assert_eq!((&result["is_error"], &result["num_turns"]), (&false.into(), &4.into()));
        assert_eq!(result["usage"]["input_tokens"], 4000);
    });
}

#[test]
fn gemini_plays_a_full_turn() {
    offline(&[AgentCli::Gemini], || {
        let (server, home) = full(AgentCli::Gemini);
        assert_eq!(home.version(), "0.61.0");
        let run = home.headless("go [[script:full]]", &[]);
        check_full(&home, &run);
        assert_eq!(server.seen(), ["full/0", "full/1", "full/2", "full/3"]);
        let path = "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse";
        assert_eq!(paths(&server.requests()), [path]);
        let called: Vec<&Value> =
            run.of_type("tool_use").into_iter().map(|event| &event["tool_name"]).collect();
        assert_eq!(called, ["write_file", "run_shell_command", "mcp_tiny_add"]);
        assert_eq!(run.only("result")["status"], "success");
    });
}

fn schema() -> Value {
    json!({
        "type": "object", "required": ["verdict", "score"], "additionalProperties": false,
        "properties": {"verdict": {"type": "string"}, "score": {"type": "integer"}}
    })
}

#[test]
fn codex_gives_a_structured_answer() {
    offline(&[AgentCli::Codex], || {
        let answer = json!({"verdict": "pass", "score": 3});
        let server = ModelServer::start([ModelScript::named("judge").answer(answer.clone())]);
        let home = AgentHome::new(AgentCli::Codex, &server);
        let file = home.folder().join("schema.json");
        fs::write(&file, schema().to_string()).unwrap();
        let file = file.to_str().unwrap();
        let run = home.headless("judge [[script:judge]]", &["--output-schema", file]);
        assert_eq!(run.outcome.code, Some(0), "{run:#?}");
        assert_eq!(serde_json::from_str::<Value>(&run.final_text()).unwrap(), answer);
        assert_eq!(server.seen(), ["judge/0"]);
        assert_eq!(server.requests()[0].schema(), Some(&schema()));
    });
}

#[test]
fn claude_gives_a_structured_answer_and_corrects_an_invalid_one() {
    offline(&[AgentCli::Claude], || {
        let answer = json!({"verdict": "pass", "score": 3});
        let script =
            ModelScript::named("judge").answer(json!({"verdict": 1})).answer(answer.clone());
        let server = ModelServer::start([script]);
        let home = AgentHome::new(AgentCli::Claude, &server);
        let run =
            home.headless("judge [[script:judge]]", &["--json-schema", &schema().to_string()]);
        assert_eq!(run.outcome.code, Some(0), "{run:#?}");
        assert_eq!(run.only("result")["structured_output"], answer);
        assert_eq!(server.seen(), ["HEAD /", "judge/0", "judge/1"]);
        let turns = server.turns("judge");
        assert_eq!(
            turns[0].schema().map(|schema| &schema["required"]),
            Some(&schema()["required"])
        );
        assert!(turns[1].body.to_string().contains("does not match required schema"));
    });
}

#[test]
fn conversations_resume_where_they_were() {
    offline(&[AgentCli::Codex, AgentCli::Claude], || {
        let script = || ModelScript::named("talk").say("first").say("second");
        let server = ModelServer::start([script()]);
        let codex = AgentHome::new(AgentCli::Codex, &server);
        let first = codex.headless("go [[script:talk]]", &[]);
        let id = first.only("thread.started")["thread_id"].as_str().unwrap().to_owned();
        let second = codex.headless("go on", &["resume", &id]);
        assert_eq!((first.final_text(), second.final_text()), ("first".into(), "second".into()));
        assert_eq!(second.only("thread.started")["thread_id"], id.as_str());
        assert_eq!(server.seen(), ["talk/0", "talk/1"]);

        let server = ModelServer::start([script()]);
        let claude = AgentHome::new(AgentCli::Claude, &server);
        let first = claude.headless("go [[script:talk]]", &[]);
        let id = first.only("result")["session_id"].as_str().unwrap().to_owned();
        // Two forks of one conversation, at once: each finds the same next turn.
        in_parallel(2, &[(), ()], |()| {
            let fork = claude.headless("go on", &["--resume", &id, "--fork-session"]);
            assert_eq!(fork.final_text(), "second");
            assert_ne!(fork.only("result")["session_id"], id.as_str());
        });
        let turns: Vec<String> = server.turns("talk").iter().map(ModelRequest::to_string).collect();
        assert_eq!(turns, ["talk/0", "talk/1", "talk/1"]);
    });
}

/// A mark in a subagent's prompt gives it a script of its own.
#[test]
fn subagents_play_their_own_scripts() {
    offline(&[AgentCli::Codex, AgentCli::Claude], || {
        let below = || ModelScript::named("below").say("hello from below");
        let prompt = "do it [[script:below]]";
        let spawn = json!({"message": prompt});
        // The program ends with its main agent, whatever the subagent is at.
        let above = ModelScript::named("above")
            .turn(ScriptTurn::new().call_in("multi_agent_v1", "spawn_agent", spawn))
            .turn(ScriptTurn::new().say("done above").following("below", 0));
        let server = ModelServer::start([below(), above]);
        let run = AgentHome::new(AgentCli::Codex, &server).headless("go [[script:above]]", &[]);
        assert_eq!(run.final_text(), "done above");
        assert_eq!(server.turns("above").len(), 2, "{:?}", server.seen());
        let turns = server.turns("below");
        assert_eq!(turns.len(), 1, "{:?}", server.seen());
        assert_eq!(turns[0].codex()["thread_source"], "subagent");

        let task = json!({
            "description": "work", "prompt": prompt, "subagent_type": "general-purpose"
        });
        let above = ModelScript::named("above").call("Agent", task).say("done above");
        let server = ModelServer::start([below(), above]);
        let run = AgentHome::new(AgentCli::Claude, &server).headless("go [[script:above]]", &[]);
        assert_eq!(run.final_text(), "done above");
        assert_eq!(server.seen(), ["HEAD /", "above/0", "below/0", "above/1"]);
        let request_body = server.turns("above")[1].body.to_string();
        assert!(request_body.contains("hello from below"), "{request_body}");
    });
}

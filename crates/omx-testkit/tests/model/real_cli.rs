//! The real agent programs, each in a whole headless turn: its own tool that
//! writes a file, its shell, a tool of an MCP server.

use omx_testkit::model::{ModelServer, Script};
use omx_testkit::real_cli::{AgentHome, Cli, Run, offline};
use serde_json::json;

/// A server for a full turn, and a home with the MCP server it needs.
fn full(cli: Cli) -> (ModelServer, AgentHome) {
    let script = Script::named("full")
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
fn check_full(home: &AgentHome, run: &Run) {
    assert_eq!(run.outcome.code, Some(0), "{run:#?}");
    assert_eq!(home.read("made.txt"), "line one\nline two\n");
    assert_eq!(home.read("copied.txt"), "line one\nline two\n");
    assert!(run.outcome.stdout.contains("sum=42"), "{run:#?}");
    assert_eq!(run.final_text(), "all three done");
}

#[test]
fn codex_plays_a_full_turn() {
    offline(&[Cli::Codex], || {
        let (server, home) = full(Cli::Codex);
        assert_eq!(home.version(), "codex-cli 0.166.0");
        let run = home.headless("go [[script:full]]", &[]);
        check_full(&home, &run);
        assert_eq!(server.seen(), ["full/0", "full/1", "full/2", "full/3"]);
    });
}

#[test]
fn claude_plays_a_full_turn() {
    offline(&[Cli::Claude], || {
        let (server, home) = full(Cli::Claude);
        assert_eq!(home.version(), "2.1.197 (Claude Code)");
        let run = home.headless("go [[script:full]]", &[]);
        check_full(&home, &run);
        assert_eq!(server.seen(), ["HEAD /", "full/0", "full/1", "full/2", "full/3"]);
    });
}

#[test]
fn gemini_plays_a_full_turn() {
    offline(&[Cli::Gemini], || {
        let (server, home) = full(Cli::Gemini);
        assert_eq!(home.version(), "0.61.0");
        let run = home.headless("go [[script:full]]", &[]);
        check_full(&home, &run);
        assert_eq!(server.seen(), ["full/0", "full/1", "full/2", "full/3"]);
    });
}

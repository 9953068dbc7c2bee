//! Ralph with the real programs: a check fails, is fixed, and the result is verified.

use omx_testkit::model::ModelScript;
use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::json;

use super::journal_checks::{ExpectedSteps, asks, own};
use super::parts::{self, answers, works};
use super::project::RealProject;

/// A first attempt that fails the check, and everything after it.
pub fn scripts() -> Vec<ModelScript> {
    let mended = parts::work("greet.sh greets the world too");
    vec![
        works("work", &[parts::DO], parts::NAMES_ONLY, parts::work("greet.sh greets by name")),
        works("fix", &[parts::FIX, &parts::after("check1")], parts::RIGHT, mended),
        answers("verify", &[parts::VERIFY], parts::verified()),
        answers("tidy", &[parts::TIDY], parts::looked("Nothing to tidy.")),
    ]
}

pub const ARGS: [&str; 5] =
    ["--check", "sh check.sh", "--verify", "thorough", "greet people by name"];

pub const STEPS: [ExpectedSteps<'_>; 8] = [
    asks("work", "work", 2),
    own("check1"),
    asks("fix1", "fix", 2),
    own("check2"),
    asks("verifier2", "verify", 1),
    asks("architect2", "verify", 1),
    asks("tidy2", "tidy", 1),
    own("recheck2"),
];

/// Asserts what a completed ralph leaves.
#[track_caller]
pub fn assert_complete(project: &RealProject, check: &str) {
    let document = project.document("ralph");
    assert_eq!(document["active"], false);
    assert_eq!(document["current_phase"], "complete");
    assert_eq!(document["run_outcome"], "finish");
    assert_eq!(document["iteration"], 2);
    let audit = &document["completion_audit"];
    assert_eq!(audit["passed"], true);
    assert_eq!(audit["checklist"], json!([{"item": "greet people by name", "done": true}]));
    let evidence = audit["evidence"].as_array().unwrap();
    assert_eq!(evidence[0], json!({"command": check, "exit_code": 0}));
    let journal = format!(".omx/runs/{}/journal.jsonl", project.id());
    assert_eq!(evidence.last().unwrap(), &json!({"path": journal}));
    assert_eq!(project.closed().last().unwrap(), "complete");
    assert_eq!(project.on_branch("greet.sh"), "echo \"Hello, ${1:-world}!\"\n");
    assert_eq!(project.commits(), ["greet.sh greets by name", "greet.sh greets the world too"]);
    project.assert_left_alone();
}

fn fixes_what_the_check_finds(cli: AgentCli) {
    let project = RealProject::new(cli, scripts());
    let outcome = project.run("ralph", &ARGS);
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    assert_complete(&project, "sh check.sh");
    project.assert_books(&STEPS, &[]);
    if cli == AgentCli::Claude {
        // Claude reports its start: each step has one process.
        let hellos = project.server.seen().iter().filter(|line| *line == "HEAD /").count();
        assert_eq!(hellos, 5, "{:#?}", project.server.seen());
    }
    // The fixer gets the output of the check, and every agent its role.
    let fix = &project.server.turns("fix")[0].body.to_string();
    assert!(fix.contains("wanted: Hello, world!"), "{fix}");
    for (script, role) in [("work", "executor"), ("fix", "debugger"), ("tidy", "executor")] {
        let card = format!("{}/../../assets/roles/{role}.md", env!("CARGO_MANIFEST_DIR"));
        let card = std::fs::read_to_string(card).unwrap();
        let line = card.lines().rfind(|line| line.len() > 20).unwrap();
        let line = serde_json::to_string(line).unwrap();
        let body = project.server.turns(script)[0].body.to_string();
        assert!(body.contains(line.trim_matches('"')), "{script} is not told {line}: {body}");
    }
}

#[test]
fn codex_ralph_fixes_what_the_check_finds() {
    offline(&[AgentCli::Codex], || fixes_what_the_check_finds(AgentCli::Codex));
}

/// conductor.md 1.2: the fallback without an app-server, where a conversation gets
/// its id with the first message.
#[test]
fn codex_ralph_works_without_an_app_server() {
    offline(&[AgentCli::Codex], || {
        let project = RealProject::with_old_codex(scripts());
        let outcome = project.run("ralph", &ARGS);
        assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
        assert_complete(&project, "sh check.sh");
        project.assert_books(&STEPS, &[]);
        let by = |request: &omx_testkit::model::ModelRequest| {
            request.codex()["turn_trigger"].as_str().map(str::to_owned)
        };
        let turns = project.server.turns("work");
        assert_eq!(turns.iter().filter_map(by).next().as_deref(), Some("exec"));
    });
}

#[test]
fn claude_ralph_fixes_what_the_check_finds() {
    offline(&[AgentCli::Claude], || fixes_what_the_check_finds(AgentCli::Claude));
}

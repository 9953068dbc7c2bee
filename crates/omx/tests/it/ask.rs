//! `omx ask`: one prompt to one agent, for a person and for a program.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use omx_testkit::{CommandOutcome, TestProject, await_condition};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::project;

const SCENARIO: &str = r#"
[[entry]]
match = "hello"
do = [
  { run = { command = "echo hi > hi.txt" } },
  { usage = { input = 120, output = 7 } },
  { say = "Hello yourself." },
]
[[entry]]
role = "critic"
do = [{ result = { lane = "critic", verdict = "APPROVE", findings = [], summary = "fine" } }]
[[entry]]
match = "limit"
do = [{ fail = { kind = "rate_limit" } }]
[[entry]]
match = "login"
do = [{ fail = { kind = "auth" } }]
[[entry]]
match = "slow"
do = [{ delay_ms = 60000 }]
"#;

fn with_scenario() -> (TestProject, String) {
    let project = project();
    project.git();
    let file = project.folder().join("scenario.toml");
    fs::write(&file, SCENARIO).unwrap();
    (project, file.to_str().unwrap().to_owned())
}

fn ask(project: &TestProject, scenario: &str, args: &[&str]) -> CommandOutcome {
    project.omx(&[&["ask", "rehearsal", "--scenario", scenario], args].concat())
}

/// The only saved file.
fn artifact(project: &TestProject) -> String {
    let folder = project.root().join(".omx/artifacts");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(
        files[0].file_name().unwrap().to_str().unwrap().starts_with("ask-rehearsal-"),
        "{files:?}"
    );
    fs::read_to_string(&files[0]).unwrap()
}

#[test]
fn team_6_an_answer_goes_to_standard_output_and_is_saved() {
    let (project, scenario) = with_scenario();
    let outcome = ask(&project, &scenario, &["--allow", "commands", "hello there"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(0), "Hello yourself.\n"));
    assert_eq!(outcome.stderr, "", "nothing but the answer in a pipe");
    assert_eq!(project.read("hi.txt"), "hi\n");
    let kept = artifact(&project);
    for part in ["agent: rehearsal", "hello there", "Hello yourself.", "input_tokens: 120"] {
        assert!(kept.contains(part), "{part}: {kept}");
    }
}

#[test]
fn ask_with_events_reports_everything_and_ends_with_the_answer() {
    let (project, scenario) = with_scenario();
    let outcome = ask(&project, &scenario, &["--json", "hello there"]);
    let events: Vec<Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(kinds.last(), Some(&"answer"));
    for kind in ["tool_started", "tool_finished", "usage", "turn_finished", "ended"] {
        assert!(kinds.contains(&kind), "{kind} in {kinds:?}");
    }
    let answer = events.last().unwrap();
    assert_eq!(answer["text"], "Hello yourself.");
    assert_eq!(answer["conversation"], events[0]["conversation"]);
    assert_eq!(answer["usage"], json!({"input": 120, "output": 7}));
    assert!(fs::exists(answer["artifact"].as_str().unwrap()).unwrap());
}

#[test]
fn ask_in_a_role_answers_with_the_roles_result() {
    let (project, scenario) = with_scenario();
    let outcome = ask(&project, &scenario, &["--role", "critic", "is it good?"]);
    let result: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(result["verdict"], "APPROVE");
    let refused = ask(&project, &scenario, &["--role", "nobody", "is it good?"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("omx list roles"), "{refused:?}");
}

#[test]
fn ask_needs_a_question_and_reads_it_from_standard_input() {
    let (project, scenario) = with_scenario();
    let words = ["ask", "rehearsal", "--scenario", &scenario, "-"];
    let outcome = project.omx_stdin(&words, b"say hello, please");
    assert_eq!(outcome.stdout, "Hello yourself.\n", "{outcome:?}");
    let refused = project.omx_stdin(&words, b" \n");
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("the question is empty"), "{refused:?}");
    let without = project.omx(&["ask", "rehearsal", "hello"]);
    assert_eq!(without.code, Some(1), "{without:?}");
}

#[test]
fn ask_reports_a_failure_by_its_name_with_a_remedy() {
    let (project, scenario) = with_scenario();
    let limited = ask(&project, &scenario, &["limit"]);
    assert_eq!(limited.code, Some(5), "{limited:?}");
    assert!(limited.stderr.contains("[rate_limit]"), "{limited:?}");
    let refused = ask(&project, &scenario, &["--json", "login"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    let last: Value = serde_json::from_str(refused.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["kind"]), (&json!("failed"), &json!("not_logged_in")));
    // None of the three is installed here.
    let missing = project.omx_env(&["ask", "gemini", "hello"], &[("PATH", "/nonexistent")]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("npm install -g @google/gemini-cli"), "{missing:?}");
}

#[test]
fn an_interrupted_ask_says_how_to_resume_and_leaves_no_process() {
    let (project, scenario) = with_scenario();
    let mut command =
        project.omx_command(&["ask", "rehearsal", "--scenario", &scenario, "slow, please"]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let plays = || {
        let folder = fs::read_dir(project.root().join(".omx/rehearsal")).into_iter().flatten();
        let books = folder.flatten().filter_map(|entry| fs::read_to_string(entry.path()).ok());
        books.into_iter().any(|book| book.replace([' ', '\n'], "").contains("\"finished\":false"))
    };
    await_condition("it is played", Duration::from_secs(20), plays);
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = CommandOutcome::from(child.wait_with_output().unwrap());
    assert_eq!(output.code, Some(130), "{output:?}");
    assert!(output.stderr.contains("resume with --resume "), "{output:?}");
}

#[test]
fn ask_on_a_terminal_shows_permissions_and_actions() {
    let (project, scenario) = with_scenario();
    let words = ["ask", "rehearsal", "--scenario", &scenario, "--allow", "commands", "hello there"];
    let outcome = project.on_terminal(&words, "");
    for part in
        ["may edit files and run commands here", "runs echo hi", "Hello yourself.", "saved to"]
    {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
}

#[test]
fn trust_3_0_an_agent_that_answers_a_question_changes_nothing() {
    let (project, scenario) = with_scenario();
    let words = ["ask", "rehearsal", "--scenario", &scenario, "hello there"];
    let outcome = project.on_terminal(&words, "");
    for part in ["may read and run commands; can change nothing", "confined  by the kernel"] {
        assert!(outcome.stdout.contains(part), "{part}: {}", outcome.stdout);
    }
    assert!(!project.root().join("hi.txt").exists());
}

#[test]
fn agents_are_listed_with_the_reason_why_one_cannot_work() {
    let project = project();
    let listed = project.omx_env(&["list", "agents", "--json"], &[("PATH", "/nonexistent")]).ok();
    let agents = listed["agents"].as_array().unwrap();
    let names: Vec<&str> = agents.iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["codex", "claude", "gemini"]);
    for agent in agents {
        assert_eq!(agent["problem"], "not_installed", "{agent}");
        assert_eq!(agent["ready"], false);
    }
}

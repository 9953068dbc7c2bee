//! Flags given with a resume hold for the rest of the run, or are refused.

use std::fs;

use omx_testkit::CommandOutcome;
use serde_json::Value;

use super::kit::Repository;
use super::scenario::{ralph_scenario, run, write};

/// A ralph whose verifier needs the person to log in, once.
fn stopped() -> Repository {
    let scenario = ralph_scenario(&write("work.txt", "done\n")).replace(
        "[[entry]]\nrequired = false\ndo = [{ result = { passed",
        "[[entry]]\nrole = \"verifier\"\ntimes = 1\ndo = [{ fail = { kind = \"auth\" } }]\n\n\
         [[entry]]\nrequired = false\ndo = [{ usage = { input = 900, output = 100 } }, \
         { result = { passed",
    );
    let mut repository = Repository::playing(&scenario);
    repository.check = "true".to_owned();
    let outcome = repository.run("ralph", &["make work.txt"]);
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    repository
}

fn resume(repository: &Repository, flags: &[&str]) -> CommandOutcome {
    repository.project.omx(&[&["ralph", "--resume"], flags].concat())
}

/// The commands of the checks that ran, in order.
fn checks(repository: &Repository) -> Vec<String> {
    let is_check = |record: &Value| record["result"]["output"].is_string();
    let finished = repository.journal().into_iter().filter(is_check);
    finished.map(|record| record["result"]["command"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn conductor_3_2_a_check_given_with_a_resume_is_the_check_from_then_on() {
    let repository = stopped();
    let resumed = resume(&repository, &["--check", "test -e work.txt", "--allow", "edits"]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    // The check that is done is not repeated.
    assert_eq!(checks(&repository), ["true", "test -e work.txt"]);
    assert!(resumed.stdout.contains("  check   test -e work.txt"), "{resumed:#?}");
    assert!(resumed.stdout.contains("asks you before it runs commands"), "{resumed:#?}");
    let shown = repository.project.omx(&["runs", "show"]).stdout;
    assert!(shown.contains("changed: allow edits, check test -e work.txt"), "{shown}");
}

#[test]
fn conductor_3_2_a_model_and_a_budget_given_with_a_resume_are_in_force() {
    let repository = stopped();
    for key in ["prices.dear-1.input", "prices.dear-1.output"] {
        assert_eq!(repository.project.omx(&["config", "set", key, "1000"]).code, Some(0));
    }
    let resumed = resume(&repository, &["--model", "dear-1", "--budget-usd", "0.5"]);
    assert_eq!(resumed.code, Some(5), "{resumed:#?}");
    assert!(resumed.stdout.contains("the money budget is used up"), "{resumed:#?}");
    // They stay in force.
    let id = repository.id();
    assert_eq!(repository.project.omx(&["runs", "resume", &id]).code, Some(5));
    let raised = ["runs", "resume", &id, "--budget-usd", "50"];
    let resumed = repository.project.omx(&raised);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
}

#[test]
fn conductor_3_2_a_limit_of_tokens_given_with_a_resume_ends_the_run() {
    let repository = stopped();
    let resumed = resume(&repository, &["--budget-tokens", "500"]);
    assert_eq!(resumed.code, Some(5), "{resumed:#?}");
    assert!(resumed.stdout.contains("the budget of 500 tokens is used up"), "{resumed:#?}");
    // The same over MCP.
    let mut server = repository.project.mcp();
    let more = serde_json::json!({"budget_tokens": 500_000});
    let (is_error, answer) = server.call("run_resume", &more);
    assert!(!is_error, "{answer}");
    let attached = repository.project.omx(&["runs", "attach"]);
    assert!(attached.stdout.contains("complete"), "{attached:#?}");
}

#[test]
fn conductor_3_2_another_agent_takes_the_rest_of_the_run_over() {
    let repository = stopped();
    let bin = repository.project.folder().join("bin");
    fs::create_dir(&bin).unwrap();
    omx_testkit::write_program(&bin.join("codex"), "exit 7");
    let login = repository.project.home().join(".codex");
    fs::create_dir_all(&login).unwrap();
    fs::write(login.join("auth.json"), "{\"OPENAI_API_KEY\": \"none\"}").unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = repository.project.omx_command(&["ralph", "--resume", "--agent", "codex"]);
    let resumed = CommandOutcome::from(command.env("PATH", path).output().unwrap());
    assert_eq!(resumed.code, Some(1), "{resumed:#?}");
    assert!(resumed.stdout.contains("  agent   codex "), "{resumed:#?}");
    assert!(resumed.stdout.contains("failed: codex"), "{resumed:#?}");
    // One that is not there is refused, and nothing changes.
    let refused = resume(&repository, &["--agent", "gemini"]);
    assert_eq!(refused.code, Some(1), "{refused:#?}");
    assert!(refused.stderr.contains("gemini"), "{refused:#?}");
    let back = resume(&repository, &["--agent", "rehearsal"]);
    assert_eq!(back.code, Some(0), "{back:#?}");
}

#[test]
fn conductor_3_2_a_flag_that_cannot_change_is_refused_with_the_reason() {
    let repository = stopped();
    for (flags, named) in [
        (&["--verify", "standard"][..], "--verify"),
        (&["--in-place"], "--in-place"),
        (&["", "make something else"], "task"),
    ] {
        let refused = resume(&repository, flags);
        assert_eq!(refused.code, Some(1), "{flags:?}: {refused:#?}");
        assert!(refused.stderr.contains(named), "{flags:?}: {refused:#?}");
        assert!(refused.stderr.contains("start a new run"), "{flags:?}: {refused:#?}");
    }
    assert!(!repository.journal().iter().any(|record| record["kind"] == "spec_changed"));
    assert_eq!(resume(&repository, &[]).code, Some(0));
}

#[test]
fn conductor_a_detached_run_has_the_configuration_of_its_command() {
    let folder = crate::project();
    let outside = folder.folder().join("outside");
    let actions = run(&format!("echo x > '{}'", outside.display())) + &write("work.txt", "done\n");
    let mut repository = Repository::in_project(folder, &ralph_scenario(&actions));
    repository.check = "true".to_owned();
    let flags = ["--config", "sandbox=off", "--detach", "make work.txt"];
    let started = repository.run("ralph", &flags);
    assert_eq!(started.code, Some(0), "{started:#?}");
    let attached = repository.project.omx(&["runs", "attach"]);
    assert!(attached.stdout.contains("complete"), "{attached:#?}");
    assert!(outside.exists(), "{attached:#?}");
}

#[test]
fn surface_4_2_omx_resume_goes_on_with_the_last_unfinished_run() {
    let repository = stopped();
    let project = &repository.project;
    let resumed = project.omx(&["resume"]);
    assert_eq!(resumed.code, Some(0), "{resumed:#?}");
    // Nothing is left to resume.
    for what in ["ralph", "nope"] {
        assert_eq!(project.omx(&["resume", what]).code, Some(1), "{what}");
    }
    // What a conversation can go on with is named with the way to do it.
    project.put(serde_json::json!({"mode": "autopilot", "session_id": "s1", "active": true}));
    assert_eq!(project.omx(&["cancel", "--session-id", "s1"]).code, Some(0));
    let before = project.bytes(".omx/state/sessions");
    for args in [&["resume"][..], &["resume", "autopilot"], &["resume", "s1"]] {
        let outcome = project.omx(args);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        let way = "autopilot of session s1 is resumed in a conversation with its agent: type \
                   /autopilot there";
        assert!(outcome.stderr.contains(way), "{outcome:?}");
    }
    assert_eq!(project.bytes(".omx/state/sessions"), before);
}

//! Limits that end a run, each with its own outcome.

use super::kit::{Repository, quick_scenario};

#[test]
fn conductor_5_2_a_budget_of_tokens_is_a_hard_stop() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--budget-tokens", "9000", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    assert!(outcome.stdout.contains("stopped: "), "{outcome:?}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "blocked_on_user");
    repository.await_nobody();
}

#[test]
fn conductor_max_iterations_end_a_run_with_their_own_outcome() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--max-iterations", "1", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let document = repository.document("autopilot");
    assert_eq!(document["run_outcome"], "failed");
    assert_eq!(document["error"], "max_iterations reached");
    // The person raises the limit, and the run continues.
    let id = repository.id();
    assert_eq!(repository.project.omx(&["runs", "limit", &id, "5"]).code, Some(0));
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn conductor_5_2_a_budget_of_money_is_a_hard_stop() {
    let scenario = quick_scenario().replace("output = 610 }", "output = 610, micro_usd = 300000 }");
    let repository = Repository::playing(&scenario);
    let outcome = repository.run("autopilot", &["--budget-usd", "0.25", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    assert!(outcome.stdout.contains("stopped: the money budget is used up"), "{outcome:?}");
    assert!(outcome.stdout.contains("c1.build.work: 4,810 tokens, $0.3000"), "{outcome:?}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "blocked_on_user");
    repository.await_nobody();
    let id = repository.id();
    let raised = repository.project.omx(&["runs", "limit", &id, "--budget-usd", "1"]);
    assert_eq!(raised.code, Some(0), "{raised:?}");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn conductor_5_2_prices_count_tokens_within_a_turn() {
    // The builder works on for a minute after it has used a million tokens.
    let old = "{ run = { command = \"sh greet.sh Ada\" } }";
    let slow = "{ usage = { input = 1000000, output = 0 } }, { run = { command = \"sleep 60\" } }";
    let repository = Repository::playing(&quick_scenario().replacen(old, slow, 1));
    for (key, value) in [("prices.small-1.5.input", "0.1"), ("prices.small-1.5.output", "0.1")] {
        let set = repository.project.omx(&["config", "set", key, value]);
        assert_eq!(set.code, Some(0), "{set:?}");
    }
    let budget = ["--model", "small-1.5", "--budget-usd", "0.05", "greet people by name"];
    let begun = std::time::Instant::now();
    let outcome = repository.run("autopilot", &budget);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(50), "{:?}", begun.elapsed());
    assert!(outcome.stdout.contains("stopped: the money budget is used up"), "{outcome:?}");
    repository.await_nobody();
}

#[test]
fn conductor_5_2_a_budget_of_money_without_prices_is_refused() {
    let repository = Repository::new();
    let bin = repository.project.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    omx_testkit::write_program(&bin.join("codex"), "exit 0");
    let login = repository.project.home().join(".codex");
    std::fs::create_dir_all(&login).unwrap();
    std::fs::write(login.join("auth.json"), "{\"OPENAI_API_KEY\": \"none\"}").unwrap();
    let start = |args: &[&str]| {
        let args = [&["autopilot", "--agent", "codex"], args, &["do it"]].concat();
        let mut command = repository.project.omx_command(&args);
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", bin.display());
        omx_testkit::CommandOutcome::from(command.env("PATH", path).output().unwrap())
    };
    let refused = start(&["--budget-usd", "0.012"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("a money budget needs prices"), "{refused:?}");
    assert!(refused.stderr.contains("--model"), "{refused:?}");
    let refused = start(&["--budget-usd", "0.012", "--model", "gpt-5.1"]);
    assert!(refused.stderr.contains("config set prices.gpt-5.1.input"), "{refused:?}");
}

#[test]
fn conductor_5_2_a_budget_of_time_is_a_hard_stop_in_the_middle_of_a_step() {
    let old = "{ run = { command = \"sh greet.sh Ada\" } }";
    let slow = "{ run = { command = \"test -e ../rested || { touch ../rested; sleep 60; }\" } }";
    let repository = Repository::playing(&quick_scenario().replacen(old, slow, 1));
    let begun = std::time::Instant::now();
    // The agent writes beside its workspace.
    let flags = ["--config", "sandbox=off", "--budget-time", "4s", "greet people by name"];
    let outcome = repository.run("autopilot", &flags);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(outcome.stdout.contains("stopped: the time budget is used up"), "{outcome:?}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "blocked_on_user");
    repository.await_nobody();
    let id = repository.id();
    let raised = repository.project.omx(&["runs", "limit", &id, "--budget-time", "1h"]);
    assert_eq!(raised.code, Some(0), "{raised:?}");
    let outcome = repository.resume(&[]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}

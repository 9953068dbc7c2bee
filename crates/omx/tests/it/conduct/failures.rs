//! Failures of an agent: each is reported with its own state, message and remedy,
//! and counts no iteration.

use omx_testkit::{CommandOutcome, write_program};
use serde_json::Value;

use super::kit::{Repository, quick_scenario};

/// The demo with different first answers of these roles in these phases.
fn failing(fails: &[(&str, &str, &str)]) -> Repository {
    let entry = |(role, phase, fail): &(&str, &str, &str)| {
        format!(
            "[[entry]]\nrole = \"{role}\"\nphase = \"{phase}\"\ntimes = 1\nrequired = false\n\
             do = [{{ fail = {fail} }}]\n\n"
        )
    };
    let entries: String = fails.iter().map(entry).collect();
    Repository::playing(&format!("{entries}{}", quick_scenario()))
}

fn builder_fails(fail: &str) -> Repository {
    failing(&[("executor", "executing", fail)])
}

/// What the run waited for, in order.
fn waits(repository: &Repository) -> Vec<String> {
    let records = repository.journal();
    let waits = records.iter().filter(|record| record["kind"] == "waiting");
    waits.map(|record| record["for"].as_str().unwrap().to_owned()).collect()
}

/// Asserts that nothing was counted except the one rejected review.
fn assert_nothing_counted(repository: &Repository) {
    assert_eq!(repository.document("autopilot")["iteration"], 2);
    assert_eq!(repository.document("ralph")["iteration"], 1);
}

/// Asserts that the run waits for the person with this message and nothing runs.
#[track_caller]
fn assert_needs_person(repository: &Repository, outcome: &CommandOutcome, words: &[&str]) {
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    let message = outcome.stdout.lines().find(|line| line.starts_with("needs you: "));
    let message = message.unwrap_or_else(|| panic!("{outcome:?}"));
    for word in words {
        assert!(message.contains(word), "{word:?} is missing: {message}");
    }
    let id = repository.id();
    assert!(outcome.stdout.contains(&format!("resume it: omx runs resume {id}")), "{outcome:?}");
    let document = repository.document("autopilot");
    assert_eq!(document["run_outcome"], "blocked_on_user");
    assert_eq!(document["active"], false);
    assert_eq!(document["iteration"], 1);
    repository.await_nobody();
    let report = repository.project.omx(&["runs", "show", "--json"]).ok();
    assert_eq!(report["state"], "blocked_on_user");
    assert!(report["why"].as_str().unwrap().contains(words[0]), "{}", report["why"]);
}

#[test]
fn conductor_5_1_a_limit_with_an_end_is_waited_out_and_counts_nothing() {
    let repository = builder_fails("{ kind = \"rate_limit\", reset_in_s = 2 }");
    let mut running = repository.start("autopilot", &["greet people by name"]);
    // While it waits it is listed as limited, with the time when it continues.
    omx_testkit::await_condition("it waits", super::kit::DEADLINE, || {
        repository.journal().iter().any(|record| record["kind"] == "waiting")
    });
    let mut waiting = Value::Null;
    omx_testkit::await_condition("its document says so", super::kit::DEADLINE, || {
        waiting = repository.document("autopilot")["waiting"].clone();
        !waiting.is_null()
    });
    assert_eq!(waiting["kind"], "rate_limit");
    assert!(waiting["until"].as_str().is_some_and(|until| until.ends_with('Z')), "{waiting}");
    let listed = repository.project.omx(&["runs"]).stdout;
    assert!(listed.contains("limited"), "{listed}");
    // No agent runs meanwhile.
    repository.await_nobody();
    assert_eq!(running.code(), Some(0));
    assert_eq!(waits(&repository), ["rate_limit"]);
    assert_eq!(repository.document("autopilot")["waiting"], Value::Null);
    assert_nothing_counted(&repository);
}

#[test]
fn conductor_5_1_a_limit_without_an_end_is_retried() {
    let repository = builder_fails("{ kind = \"rate_limit\", message = \"429\" }");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    assert_eq!(waits(&repository), ["rate_limit"]);
    assert_nothing_counted(&repository);
}

#[test]
fn conductor_5_1_a_limit_whose_end_is_past_means_now() {
    let repository = builder_fails("{ kind = \"rate_limit\", until = \"2020-01-01T00:00:00Z\" }");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    assert_eq!(waits(&repository), ["rate_limit"]);
}

#[test]
fn conductor_5_1_a_limit_that_outlasts_patience_needs_the_person() {
    let repository = failing(
        &[("executor", "executing", "{ kind = \"rate_limit\", message = \"no more today\" }"); 2],
    );
    let set = repository.project.omx(&["config", "set", "limits.patience", "1s"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    let words = ["rehearsal has reached its rate limit", "no more today", "try again later"];
    assert_needs_person(&repository, &outcome, &words);
    assert_eq!(waits(&repository), ["rate_limit"]);
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
    assert_nothing_counted(&repository);
}

#[test]
fn conductor_5_4_a_rejected_account_needs_the_person() {
    let repository = builder_fails("{ kind = \"auth\", message = \"401 Unauthorized\" }");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_needs_person(&repository, &outcome, &["rehearsal is not logged in", "401"]);
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
    assert_nothing_counted(&repository);
}

#[test]
fn conductor_5_4_an_unknown_model_needs_the_person() {
    let repository = builder_fails("{ kind = \"unknown_model\" }");
    let outcome = repository.run("autopilot", &["--model", "none", "greet people by name"]);
    assert_needs_person(
        &repository,
        &outcome,
        &["does not know the model", "choose another model"],
    );
}

#[test]
fn r14_a_service_that_fails_once_is_retried_and_counts_nothing() {
    let repository = failing(&[
        ("executor", "executing", "{ kind = \"network\", message = \"refused\" }"),
        ("debugger", "fixing", "{ kind = \"service\", status = 500 }"),
        ("verifier", "verifying", "{ kind = \"cut\" }"),
    ]);
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    assert_eq!(waits(&repository), ["network"; 3]);
    for words in
        ["cannot reach its service: refused", "failed with status 500", "answer was cut off"]
    {
        assert!(outcome.stdout.contains(words), "{words}: {outcome:?}");
    }
    // Each continued in its own conversation.
    let records = repository.journal();
    let records_of = |step: &str| {
        let talks = records.iter().filter(|record| record["kind"] == "conversation");
        talks.filter(|record| record["step"] == step).count()
    };
    assert_eq!(["c1.build.work", "c1.build.fix1", "c1.build.verifier2"].map(records_of), [1; 3]);
    assert_eq!(repository.document("autopilot")["iteration"], 2);
}

#[test]
fn r14_a_crashing_agent_is_reopened_and_given_up_if_it_keeps_crashing() {
    let crash = ("executor", "executing", "{ kind = \"crash\" }");
    let repository = failing(&[crash, crash]);
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);

    let repository = failing(&[crash; 3]);
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.contains("failed: rehearsal was killed by a signal"), "{outcome:?}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "failed");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

/// The program with only this folder on its path.
fn with_path(repository: &Repository, folder: &str, args: &[&str]) -> CommandOutcome {
    let path = repository.project.folder().join(folder);
    // git is needed to inspect the project.
    let mut command = repository.project.omx_command(args);
    CommandOutcome::from(command.env("PATH", path).output().unwrap())
}

#[test]
fn conductor_5_4_a_missing_program_is_named_with_its_remedy_before_any_work() {
    let repository = Repository::new();
    std::fs::create_dir(repository.project.folder().join("empty")).unwrap();
    let before = repository.project.bytes("");
    for (agent, package) in [
        ("codex", "@openai/codex"),
        ("claude", "@anthropic-ai/claude-code"),
        ("gemini", "@google/gemini-cli"),
    ] {
        let refused = with_path(&repository, "empty", &["autopilot", "--agent", agent, "do it"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let words = format!("{agent} is not installed; install it: npm install -g {package}");
        assert!(refused.stderr.contains(&words), "{refused:?}");
    }
    let refused = with_path(&repository, "empty", &["autopilot", "do it"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("no agent is ready: codex is not installed"), "{refused:?}");
    assert!(refused.stderr.contains("try the rehearsal agent"), "{refused:?}");
    assert!(repository.project.bytes("") == before, "something was done");
}

#[test]
fn conductor_5_4_a_missing_login_is_named_with_its_remedy_before_any_work() {
    let repository = Repository::new();
    let bin = repository.project.folder().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let before = repository.project.bytes("");
    for (agent, remedy) in [
        ("codex", "log in: codex login"),
        ("claude", "log in: claude, then /login"),
        ("gemini", "log in: gemini, then /auth"),
    ] {
        // Files show whether there is an account; the program is not called.
        write_program(&bin.join(agent), "touch \"$HOME/was-asked\"");
        let refused = with_path(&repository, "bin", &["autopilot", "--agent", agent, "do it"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let words = format!("{agent} is not logged in");
        assert!(refused.stderr.contains(&words) && refused.stderr.contains(remedy), "{refused:?}");
    }
    assert!(repository.project.bytes("") == before, "something was done");
    assert!(!repository.project.home().join("was-asked").exists());
}

//! Limits and trouble, each told as what it is.

use super::kit::Repository;

/// The demo with another first answer of the builder.
fn failing(fail: &str) -> Repository {
    let entry = format!(
        "[[entry]]\nrole = \"executor\"\nphase = \"executing\"\ntimes = 1\nrequired = false\ndo = [{{ fail = {fail} }}]\n\n"
    );
    let scenario = include_str!("../../../../../assets/demo/scenario.toml");
    Repository::playing(&format!("{entry}{scenario}"))
}

#[test]
fn conductor_5_1_a_limit_with_an_end_is_waited_for_and_counts_nothing() {
    let repository = failing("{ kind = \"rate_limit\", reset_in_s = 2 }");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    repository.assert_complete(&outcome);
    let records = repository.journal();
    let waited: Vec<_> = records.iter().filter(|record| record["kind"] == "waiting").collect();
    assert_eq!(waited.len(), 1, "{waited:?}");
    assert_eq!(waited[0]["for"], "rate_limit");
    // One review was not clean; the limit raised nothing.
    assert_eq!(repository.document("autopilot")["iteration"], 2);
}

#[test]
fn conductor_5_1_a_limit_without_an_end_needs_the_person() {
    let repository = failing("{ kind = \"rate_limit\" }");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert!(outcome.stdout.contains("needs you: rehearsal is limited"), "{outcome:?}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "blocked_on_user");
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

#[test]
fn conductor_5_4_a_missing_login_needs_the_person() {
    let repository = failing("{ kind = \"auth\" }");
    let outcome = repository.run("autopilot", &["greet people by name"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "blocked_on_user");
    repository.await_nobody();
}

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
fn conductor_max_iterations_end_a_run_as_what_they_are() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--max-iterations", "1", "greet people by name"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let document = repository.document("autopilot");
    assert_eq!(document["run_outcome"], "failed");
    assert_eq!(document["error"], "max_iterations reached");
    // The person allows more, and it goes on from there.
    let id = repository.id();
    assert_eq!(repository.project.omx(&["runs", "limit", &id, "5"]).code, Some(0));
    let outcome = repository.resume(&[]);
    repository.assert_complete(&outcome);
}

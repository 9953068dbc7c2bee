//! Limits a run ends by, each told as what it is.

use super::kit::Repository;

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

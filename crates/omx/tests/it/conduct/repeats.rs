//! An agent that repeats itself is paused; a slow one that makes progress is not.

use super::kit::Repository;

/// A ralph whose builder does nothing, and whose fixer does this.
fn fixing_with(steps: &str, passes: &str) -> Repository {
    let result = |summary: &str| {
        format!(
            "{{ result = {{ summary = \"{summary}\", changed_files = [\"work.txt\"], commands = [], done = true }} }}"
        )
    };
    let verdict = "{ result = { passed = true, findings = [], checks = [{ name = \"read\", evidence = \"read it\" }] } }";
    let scenario = format!(
        "[[entry]]\nrole = \"executor\"\ndo = [{}]\n\n\
         [[entry]]\nrole = \"debugger\"\ndo = [{steps} {}]\n\n\
         [[entry]]\nphase = \"verifying\"\ndo = [{verdict}]\n",
        result("built it"),
        result("mended it"),
    );
    let mut repository = Repository::playing(&scenario);
    repository.check = passes.to_owned();
    repository
}

#[test]
fn r15_an_agent_that_repeats_itself_is_paused_and_the_repetition_named() {
    // Different text and numbers each time, in an unchanged folder.
    let repository =
        fixing_with("{ say = \"Now it should work.\" },", "echo \"broken since $$\"; exit 1");
    let outcome = repository.run("ralph", &["mend it"]);
    assert_eq!(outcome.code, Some(3), "{outcome:?}");
    let message = outcome.stdout.lines().find(|line| line.starts_with("needs you: no progress"));
    let message = message.unwrap_or_else(|| panic!("{outcome:?}"));
    assert!(message.contains("5 times in a row") && message.contains("broken since"), "{message}");
    let document = repository.document("ralph");
    assert_eq!(document["run_outcome"], "blocked_on_user");
    let records = repository.journal();
    let mended = |record: &&serde_json::Value| {
        record["kind"] == "step_finished" && record["step"].as_str().unwrap().starts_with("fix")
    };
    assert_eq!(records.iter().filter(mended).count(), 5);
    repository.await_nobody();
}

#[test]
fn r15_a_slow_agent_that_makes_progress_is_not_paused() {
    let steps = "{ run = { command = \"echo one more >> work.txt\" } },";
    let enough = "test \"$(cat work.txt 2>/dev/null | wc -l)\" -ge 8 || { echo not yet; exit 1; }";
    let repository = fixing_with(steps, enough);
    let outcome = repository.run("ralph", &["mend it"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(repository.document("ralph")["iteration"], 9);
}

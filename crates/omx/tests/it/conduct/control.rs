//! Control reaches a run at once, also while an agent reports without pause;
//! a lock that somebody else holds is waited for.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

use omx_testkit::await_condition;

use super::kit::{DEADLINE, Repository, RunningOmx};

/// How long a run may take to act on a cancel or an answer.
const AT_ONCE: Duration = Duration::from_secs(5);
/// Longer than any single wait for the project's lock.
const LONG: Duration = Duration::from_millis(6_500);

/// What an agent does that reports something five times a second for a minute.
fn chatter() -> String {
    "{ say = \"and another thing\" },\n{ delay_ms = 200 },\n".repeat(300)
}

fn events(repository: &Repository) -> String {
    fs::read_to_string(repository.run_folder().join("events.jsonl")).unwrap_or_default()
}

fn start(repository: &Repository, mode: &str, more: &[&str]) -> RunningOmx {
    let mut command = repository.command(mode, more);
    RunningOmx(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn conductor_a_cancel_takes_effect_at_once_while_an_agent_talks() {
    let result = "{ result = { summary = \"s\", changed_files = [], commands = [], done = true } }";
    let scenario = format!("[[entry]]\ndo = [\n{}{result},\n]\n", chatter());
    let repository = Repository::playing(&scenario);
    let mut running = start(&repository, "ralph", &["talk"]);
    await_condition("the agent talks", DEADLINE, || {
        events(&repository).matches("another thing").count() >= 3
    });
    // A document cleared by force is a cancel without a signal.
    let document = repository.project.session(&repository.id(), "ralph-state.json");
    fs::remove_file(document).unwrap();
    let since = Instant::now();
    await_condition("the run stops", AT_ONCE, || running.0.try_wait().unwrap().is_some());
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    let last = repository.journal().pop().unwrap();
    assert_eq!((&last["kind"], &last["outcome"]), (&"closed".into(), &"cancelled".into()));
    repository.await_nobody();
}

#[test]
fn conductor_a_lower_limit_takes_effect_at_once_while_an_agent_talks() {
    let spend = "{ usage = { input = 600, output = 100 } },\n";
    let scenario = format!("[[entry]]\ndo = [\n{spend}{}]\n", chatter());
    let repository = Repository::playing(&scenario);
    let mut running = start(&repository, "ralph", &["talk"]);
    await_condition("the agent talks", DEADLINE, || {
        events(&repository).matches("another thing").count() >= 3
    });
    let id = repository.id();
    // A higher limit changes nothing yet, and is in the journal and the document.
    let raised = repository.project.omx(&["runs", "limit", &id, "60", "--json"]).ok();
    assert_eq!(raised["takes_effect"], "now", "{raised}");
    assert_eq!(repository.document("ralph")["max_iterations"], 60);
    assert_eq!(running.0.try_wait().unwrap(), None);
    let since = Instant::now();
    let lowered = repository.project.omx(&["runs", "limit", &id, "--budget-tokens", "500"]);
    assert!(lowered.stdout.contains("They are in force."), "{lowered:?}");
    await_condition("the agent ends", AT_ONCE, || {
        let journal = repository.journal();
        journal.iter().any(|record| record["kind"] == "budget_raised")
    });
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    assert_eq!(running.code(), Some(5));
    let last = repository.journal().pop().unwrap();
    assert_eq!(last["why"], "the budget of 500 tokens is used up", "{last}");
    assert_eq!(repository.document("ralph")["run_outcome"], "blocked_on_user");
    assert!(!repository.run_folder().join("limits").read_dir().unwrap().any(|_| true));
    repository.await_nobody();
}

#[test]
fn conductor_an_answer_takes_effect_at_once_while_another_agent_talks() {
    let review = |lane: &str, verdict: &str| {
        format!(
            "{{ result = {{ lane = \"{lane}\", verdict = \"{verdict}\", findings = [], summary = \"s\" }} }}"
        )
    };
    let scenario = format!(
        "[[entry]]\nrole = \"code-reviewer\"\ndo = [\n{}{},\n]\n\n\
         [[entry]]\nrole = \"architect\"\ndo = [{{ run = {{ command = \"echo yes\" }} }}, {{ say = \"I was allowed to\" }}, {}]\n",
        chatter(),
        review("code", "APPROVE"),
        review("architect", "CLEAR"),
    );
    let repository = Repository::playing(&scenario);
    let running = start(&repository, "code-review", &["--allow", "edits", "look"]);
    let id = repository.id();
    let question = repository.run_folder().join("needs/1.json");
    await_condition("it asks and talks", DEADLINE, || {
        question.exists() && events(&repository).matches("another thing").count() >= 3
    });
    assert_eq!(repository.project.omx(&["runs", "answer", &id, "yes"]).code, Some(0));
    let since = Instant::now();
    // A reviewer may write nothing, so what it says shows that the command ran.
    let has_run = || events(&repository).contains("I was allowed to");
    await_condition("the command runs", AT_ONCE, has_run);
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    drop(running);
    repository.await_nobody();
}

#[test]
fn conductor_a_lock_that_somebody_holds_is_waited_for() {
    let repository = Repository::new();
    let mut running = start(&repository, "autopilot", &["greet"]);
    repository.await_records(3);
    let lock = File::open(repository.project.state(".lock")).unwrap();
    lock.lock().unwrap();
    let since = Instant::now();
    await_condition("it says that it waits", DEADLINE, || {
        events(&repository).contains("waiting for the project's lock") && since.elapsed() >= LONG
    });
    assert_eq!(running.0.try_wait().unwrap(), None, "a held lock must not end the run");
    drop(lock);
    assert_eq!(running.code(), Some(0));
    assert_eq!(repository.document("autopilot")["run_outcome"], "finish");
    repository.await_nobody();
}

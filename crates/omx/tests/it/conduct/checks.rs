//! The project's check as part of a run.

use std::fs;

use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};

use super::kit::{DEADLINE, Repository};

/// A check that hangs the first time, with a process that has left its session and its
/// parents, and passes the second time. The guard is the parent of its shell.
const HANGS_ONCE: &str = "test -e ../guard || { echo $PPID > ../guard; \
    setsid sh -c '( sh -c \"touch ../ready; exec sleep 1000\" & )'; sleep 1000; }";

#[test]
fn trust_4_3_a_check_whose_guard_is_killed_is_interrupted_and_runs_again() {
    let scenario = "[[entry]]\nrequired = false\ndo = [{ say = \"nothing to do\" }]\n";
    let mut repository = Repository::playing(scenario);
    repository.check = HANGS_ONCE.to_owned();
    // The check writes beside its workspace, where it is not in the way.
    let mut running = repository.start("ultraqa", &["--config", "sandbox=off", "is it good"]);
    let beside = |name: &str| repository.project.root().join(".omx/worktrees/run").join(name);
    await_condition("the check runs", DEADLINE, || beside("ready").exists());
    let guard: i32 = fs::read_to_string(beside("guard")).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(guard).unwrap(), Signal::KILL).unwrap();
    assert_eq!(running.code(), Some(1));
    repository.await_nobody();
    // No result was invented: the step is begun and nothing else.
    let of_check = |record: &&serde_json::Value| record["step"] == "check1";
    let journal = repository.journal();
    let kinds: Vec<_> = journal.iter().filter(of_check).map(|record| &record["kind"]).collect();
    assert_eq!(kinds, ["step_started"], "{journal:#?}");
    let closed = journal.last().unwrap();
    assert_eq!(closed["outcome"], "failed", "{closed}");
    assert_eq!(closed["why"], "check1: the check was interrupted: its guard was killed");
    let document = repository.document("ultraqa");
    assert_eq!((&document["active"], &document["run_outcome"]), (&false.into(), &"failed".into()));
    let outcome = repository.resume(&[]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let journal = repository.journal();
    let finished = journal.iter().filter(of_check).filter(|it| it["kind"] == "step_finished");
    let codes: Vec<_> = finished.map(|record| &record["result"]["exit_code"]).collect();
    assert_eq!(codes, [0], "{journal:#?}");
    repository.await_nobody();
}

/// Starts a process that has no trace of the check, and kills the guard of both.
const HIDES: &str = "env -i PATH=\"$PATH\" setsid -f sh -c 'trap \"\" INT TERM HUP; \
    while :; do date > ../beat; sleep 0.05; done' < /dev/null > /dev/null 2>&1; \
    while ! test -e ../beat; do sleep 0.01; done; kill -9 $PPID; sleep 1000";

#[test]
fn trust_4_3_a_process_that_hides_and_kills_its_guard_is_ended() {
    let scenario = "[[entry]]\nrequired = false\ndo = [{ say = \"nothing to do\" }]\n";
    let mut repository = Repository::playing(scenario);
    repository.check = HIDES.to_owned();
    let outcome = repository.run("ultraqa", &["--config", "sandbox=off", "is it good"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let beat = repository.project.root().join(".omx/worktrees/run/beat");
    let seen = || fs::metadata(&beat).unwrap().modified().unwrap();
    let before = seen();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(seen(), before, "the process goes on: {outcome:?}");
}

//! trust.md 4.2: a lock that somebody else holds ends no run. The run waits, says so, and
//! goes on.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, Instant};

use omx_testkit::await_condition;
use rustix::process::Signal;

use super::kit::{DEADLINE, Repository, RunningOmx};

/// Longer than any command waits for the lock.
const HELD: Duration = Duration::from_millis(6500);

/// The project's lock, held by this process until it is dropped.
fn hold_lock(repository: &Repository) -> File {
    let lock = File::open(repository.project.root().join(".omx/state/.lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// What the run has shown so far.
fn progress(repository: &Repository) -> String {
    fs::read_to_string(repository.run_folder().join("events.jsonl")).unwrap_or_default()
}

/// Holds the lock for longer than any command waits, from when the run says that it waits.
fn hold_until_noticed(lock: File, repository: &Repository, running: &mut RunningOmx) {
    let mut noticed = None;
    await_condition("the run waits and says so", DEADLINE, || {
        assert_eq!(running.0.try_wait().unwrap(), None, "it ended: {}", progress(repository));
        if noticed.is_none() && progress(repository).contains("waiting for the project's lock") {
            noticed = Some(Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
        noticed.is_some_and(|noticed| noticed.elapsed() >= HELD)
    });
    drop(lock);
}

/// Plays an autopilot and holds the lock after this many records.
fn completes_after_a_hold_at(records: usize) {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(records);
    hold_until_noticed(hold_lock(&repository), &repository, &mut running);
    assert_completes(&repository, &mut running);
}

#[track_caller]
fn assert_completes(repository: &Repository, running: &mut RunningOmx) {
    let code = running.code();
    let shown = progress(repository);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("lock is free again"), "{shown}");
    let show = repository.project.omx(&["runs", "show", "--json"]).ok();
    assert_eq!(show["state"], "complete", "{show:#}");
    assert_eq!(repository.document("autopilot")["run_outcome"], "finish");
    repository.await_nobody();
}

#[test]
fn trust_4_2_a_lock_held_at_the_start_of_a_run_ends_no_run() {
    completes_after_a_hold_at(1);
}

#[test]
fn trust_4_2_a_lock_held_in_the_middle_of_a_run_ends_no_run() {
    completes_after_a_hold_at(40);
}

/// While a resume begins.
#[test]
fn trust_4_2_a_lock_held_during_a_resume_ends_no_run() {
    let repository = Repository::new();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    repository.await_records(40);
    running.signal(Signal::KILL);
    assert_eq!(running.code(), None);
    repository.await_nobody();
    let lock = hold_lock(&repository);
    let mut command = repository.project.omx_command(&["runs", "resume"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut resumed = RunningOmx(command.spawn().unwrap());
    hold_until_noticed(lock, &repository, &mut resumed);
    assert_completes(&repository, &mut resumed);
}

//! Locks of runs that a process holds, or that name one, which does not drive the run: an
//! agent can do both. Such a process is never signalled, and nothing is said about the run
//! that is not true.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};

use omx_testkit::await_condition;
use serde_json::json;

use super::kit::{DEADLINE, Repository};
use super::scenario::{ralph_scenario, run};

/// A process of the person, which is no business of omx.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// What a lock file says about its holder.
    fn as_holder(&self) -> String {
        let pid = self.0.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let started = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let started: u64 = started.parse().unwrap();
        let holder = json!({"pid": pid, "started": started, "boot": boot.trim()}).to_string();
        format!("{holder:<159}\n")
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A run whose builder does not end by itself.
fn endless() -> Repository {
    let mut repository = Repository::playing(&ralph_scenario(&run("sleep 1000")));
    repository.check = "true".to_owned();
    repository
}

fn await_agent(repository: &Repository) {
    await_condition("the agent works", DEADLINE, || {
        repository.processes().values().any(|line| line.contains("sleep 1000"))
    });
}

#[test]
fn trust_4_1_cancel_signals_no_process_that_only_the_lock_names() {
    let repository = endless();
    let mut running = repository.start("ralph", &["--in-place", "wait"]);
    await_agent(&repository);
    let mut bystander = Bystander::new();
    let lock = repository.run_folder().join("lock");
    let lock = OpenOptions::new().write(true).open(lock).unwrap();
    lock.write_all_at(bystander.as_holder().as_bytes(), 0).unwrap();
    let discarded = repository.project.omx(&["runs", "discard", "--force", &repository.id()]);
    assert_eq!(discarded.code, Some(1), "a live run: {discarded:?}");
    let cancelled = repository.project.omx(&["cancel"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(running.code(), Some(4), "{cancelled:?}");
    assert!(bystander.is_alive(), "{cancelled:?}");
    let named = format!("names process {}, which does not drive the run", bystander.0.id());
    assert!(cancelled.stdout.contains(&named), "{cancelled:?}");
    repository.await_nobody();
}

#[test]
fn trust_4_1_a_dead_run_whose_lock_is_held_was_not_stopped() {
    let repository = Repository::new();
    let outcome = repository.run("autopilot", &["--budget-tokens", "1", "greet"]);
    assert_eq!(outcome.code, Some(5), "{outcome:?}");
    let id = repository.id();
    let lock = File::open(repository.run_folder().join("lock")).unwrap();
    lock.lock().unwrap();
    let project = &repository.project;
    let listed = project.omx(&["runs", "--json"]).ok();
    assert_ne!(listed["runs"][0]["state"], "running", "{listed:#}");
    let held = format!("is held by process {}, which does not drive", std::process::id());
    let discarded = project.omx(&["runs", "discard", "--force", &repository.id()]);
    assert!(discarded.stderr.contains(&held), "{discarded:?}");
    let answer = project.omx(&["cancel", "--every-session", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
    assert!(!answer["runs"].to_string().contains(&id), "{answer:#}");
    let cancelled = project.omx(&["cancel", "--every-session"]);
    assert!(!cancelled.stdout.contains("was stopped"), "{cancelled:?}");
    assert!(cancelled.stdout.contains(&held), "{cancelled:?}");
    drop(lock);
}

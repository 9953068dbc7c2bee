//! Cancel and Ctrl-C at any moment: the run ends in time, says so, and is resumable.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::kit::Repository;

/// A run whose builder takes a minute in a command.
pub(super) fn slow() -> Repository {
    let scenario = include_str!("../../../../../assets/demo/scenario.toml");
    let old = "{ run = { command = \"sh greet.sh Ada\" } }";
    let new =
        "{ run = { command = \"sh -c 'trap : TERM INT; touch started; sleep 60 & wait; wait'\" } }";
    assert!(scenario.contains(old));
    Repository::playing(&scenario.replacen(old, new, 1))
}

/// Waits until the command runs.
pub(super) fn started(repository: &Repository) {
    let worktree = repository.project.root().join(".omx/worktrees/run").join(repository.id());
    omx_testkit::await_condition("the command runs", super::kit::DEADLINE, || {
        worktree.join("started").exists()
    });
}

#[test]
fn cancel_3_5_a_cancel_from_another_process_ends_run_and_agent_in_time() {
    let repository = slow();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    started(&repository);
    let begun = Instant::now();
    let cancelled = repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert!(cancelled.stdout.contains("Autopilot cancelled at phase: ralph."), "{cancelled:?}");
    assert_eq!(running.code(), Some(4));
    repository.await_nobody();
    assert!(begun.elapsed() < Duration::from_secs(12), "{:?}", begun.elapsed());
    let document = repository.document("autopilot");
    assert_eq!(document["run_outcome"], "cancelled");
    assert_eq!(document["current_phase"], "ralph");
    assert_eq!(document["active"], false);
    assert_eq!(repository.document("ralph")["run_outcome"], "cancelled");
    // Nothing started after it.
    let after = repository.journal().len();
    assert_eq!(repository.journal().last().unwrap()["outcome"], "cancelled");
    assert_eq!(repository.journal().len(), after);
    let listed = repository.project.omx(&["runs", "--json"]).ok();
    assert_eq!(listed["runs"][0]["state"], "cancelled");
    assert_eq!(repository.project.omx(&["cancel"]).code, Some(0));
}

#[test]
fn cancel_3_5_a_suspended_run_is_killed_and_stays_cancelled() {
    let repository = slow();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    started(&repository);
    running.signal(Signal::STOP);
    let begun = Instant::now();
    let cancelled = repository.project.omx(&["cancel", "--session-id", &repository.id()]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(running.code(), None);
    repository.await_nobody();
    assert!(begun.elapsed() < Duration::from_secs(16), "{:?}", begun.elapsed());
    assert_eq!(repository.document("autopilot")["run_outcome"], "cancelled");
}

#[test]
fn conductor_5_5_ctrl_c_once_saves_and_says_how_to_resume() {
    let repository = slow();
    let mut command = repository.command("autopilot", &["greet people by name"]);
    let mut running =
        super::kit::RunningOmx(command.stdout(std::process::Stdio::piped()).spawn().unwrap());
    started(&repository);
    running.signal(Signal::INT);
    assert_eq!(running.code(), Some(130));
    let mut message = String::new();
    std::io::Read::read_to_string(&mut running.0.stdout.take().unwrap(), &mut message).unwrap();
    assert!(
        message.contains(&format!("resume it: omx runs resume {}", repository.id())),
        "{message}"
    );
    repository.await_nobody();
    assert_eq!(repository.document("autopilot")["run_outcome"], "blocked_on_user");
    assert_eq!(repository.journal().last().unwrap()["outcome"], "interrupted");
}

#[test]
fn conductor_5_5_ctrl_c_twice_stops_at_once_and_stays_consistent() {
    let repository = slow();
    let mut running = repository.start("autopilot", &["greet people by name"]);
    started(&repository);
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let code = running.code();
    assert!(matches!(code, Some(130)), "{code:?}");
    repository.await_nobody();
    assert!(!repository.journal().is_empty());
}

#[test]
fn conductor_3_1_resuming_a_live_run_is_refused() {
    let repository = slow();
    let _running = repository.start("autopilot", &["greet people by name"]);
    started(&repository);
    let refused = repository.resume(&[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("omx runs attach"), "{refused:?}");
    let status = repository.project.omx(&["status"]);
    assert!(!status.stdout.contains("is held by"), "{status:?}");
    let listed = repository.project.omx(&["ps", "--json"]).ok();
    assert_eq!(listed["runs"][0]["run"], repository.id());
}

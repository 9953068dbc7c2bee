//! A call of git has a deadline, and nothing of it is left afterwards.

use std::fs;
use std::time::{Duration, Instant};

use omx_runs::git::GitError;
use omx_testkit::await_condition;

use super::stage::{GitFixture, branch, checkout, short};

#[test]
fn a_hook_that_hangs_is_stopped_with_all_it_started_and_leaves_no_lock() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "new", "x");
    stage.commit("other", "y");
    let pids = stage.folder.path().join("pids");
    let pids_text = pids.display();
    stage.hook("pre-merge-commit", &format!("sleep 300 & echo $! > '{pids_text}'; wait"));
    let project = checkout(&stage.omx_git_within(short()), &stage.root());
    let start = Instant::now();
    let error = project.integrate(&branch(1)).unwrap_err();
    assert!(matches!(&error, GitError::TimedOut { what, .. } if what == "hook"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    let pid = fs::read_to_string(&pids).unwrap();
    await_condition("the end of what the hook started", Duration::from_secs(5), || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    });
    // Nothing stands in the way of the next one.
    fs::remove_file(stage.root().join(".git/hooks/pre-merge-commit")).unwrap();
    stage.checkout().integrate(&branch(1)).unwrap();
}

#[test]
fn what_a_hook_leaves_in_the_background_is_not_waited_for() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "new", "x");
    stage.hook("post-merge", "sleep 20 &");
    let start = Instant::now();
    stage.checkout().integrate(&branch(1)).unwrap();
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn a_lock_of_another_git_is_named_as_such() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "new", "x");
    let lock = stage.root().join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let before = stage.persons();
    let error = stage.checkout().integrate(&branch(1)).unwrap_err();
    assert!(matches!(&error, GitError::Locked { path } if *path == lock), "{error}");
    before.unchanged_in(&stage, &error);
}

#[test]
fn nothing_is_left_in_the_scratch_folder() {
    let stage = GitFixture::new();
    let worktree = stage.run_that_wrote(1, "new", "x");
    worktree.tree().unwrap();
    stage.commit("other", "y");
    stage.checkout().integrate(&branch(1)).unwrap();
    let left: Vec<_> = fs::read_dir(stage.scratch()).unwrap().flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

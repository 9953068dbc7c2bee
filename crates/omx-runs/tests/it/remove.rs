//! quality.md R12: only what is clean and merged goes.

use std::fs;
use std::path::PathBuf;

use omx_runs::git::{KeptWorktree, RemovedWorktree};

use super::stage::{GitFixture, branch, write};

fn remove(stage: &GitFixture, number: u8) -> RemovedWorktree {
    stage.checkout().remove_worktree(&stage.worktree_path(number), &branch(number)).unwrap()
}

/// Removing must be refused, and the worktree and its branch stay.
#[track_caller]
fn kept(stage: &GitFixture, number: u8) -> KeptWorktree {
    let path = stage.worktree_path(number);
    let was_there = path.exists();
    let tip = stage.checkout().tip(&branch(number)).unwrap();
    match remove(stage, number) {
        RemovedWorktree::Kept(why) => {
            assert_eq!(path.exists(), was_there);
            assert_eq!(stage.checkout().tip(&branch(number)).unwrap(), tip);
            why
        }
        RemovedWorktree::Removed => panic!("removed"),
    }
}

#[test]
fn r12_a_clean_and_merged_worktree_goes_with_its_branch() {
    let stage = GitFixture::new();
    let worktree = stage.run_that_wrote(1, "new", "x");
    write(worktree.top(), "a.log", "made again");
    stage.checkout().integrate(&branch(1)).unwrap();
    let before = stage.persons();
    assert_eq!(remove(&stage, 1), RemovedWorktree::Removed);
    assert!(!stage.worktree_path(1).exists());
    assert_eq!(stage.checkout().tip(&branch(1)).unwrap(), None);
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 2);
    before.unchanged_in(&stage, &"removing");
    assert_eq!(remove(&stage, 1), RemovedWorktree::Removed, "twice is the same");
}

#[test]
fn r12_what_is_not_committed_or_not_merged_stays() {
    let stage = GitFixture::new();
    let worktree = stage.run_that_wrote(1, "new", "x");
    assert_eq!(kept(&stage, 1), KeptWorktree::Unmerged);
    stage.checkout().integrate(&branch(1)).unwrap();
    let file = write(worktree.top(), "only here ä\n", "x");
    assert_eq!(kept(&stage, 1), KeptWorktree::Dirty(vec![PathBuf::from("only here ä\n")]));
    fs::remove_file(file).unwrap();
    write(worktree.top(), "plain.txt", "x");
    assert_eq!(kept(&stage, 1), KeptWorktree::Dirty(vec![PathBuf::from("plain.txt")]));
    worktree.commit_all(&branch(1), "m").unwrap();
    assert_eq!(kept(&stage, 1), KeptWorktree::Unmerged);
}

#[test]
fn r12_what_is_locked_foreign_or_in_the_middle_of_something_stays() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    let path = stage.worktree_path(1);
    stage.git(&["worktree", "lock", "--reason", "on a stick", path.to_str().unwrap()]);
    assert_eq!(kept(&stage, 1), KeptWorktree::Locked("on a stick".into()));
    stage.git(&["worktree", "unlock", path.to_str().unwrap()]);
    stage.git_in(&path, &["bisect", "start"]);
    assert!(matches!(kept(&stage, 1), KeptWorktree::InProgress(_)));
    stage.git_in(&path, &["bisect", "reset"]);
    stage.git_in(worktree.top(), &["switch", "--quiet", "-c", "elsewhere"]);
    assert_eq!(kept(&stage, 1), KeptWorktree::Foreign);

    let foreign = stage.worktree_path(2);
    write(&foreign, "mine", "x");
    assert_eq!(kept(&stage, 2), KeptWorktree::Forgotten);
    assert!(foreign.join("mine").exists());
}

#[test]
fn r12_a_worktree_whose_folder_is_gone_takes_its_branch_along_only_if_it_is_merged() {
    let stage = GitFixture::new();
    for number in [1, 2] {
        stage.run_that_wrote(number, &format!("new{number}"), "x");
        fs::remove_dir_all(stage.worktree_path(number)).unwrap();
    }
    stage.git(&["merge", "--quiet", branch(2).as_str()]);
    assert_eq!(kept(&stage, 1), KeptWorktree::Unmerged);
    assert_eq!(remove(&stage, 2), RemovedWorktree::Removed);
    assert_eq!(stage.checkout().tip(&branch(2)).unwrap(), None);
}

//! Bringing a run's branch to the person's, where nothing stands against it.

use std::fs;

use omx_runs::git::MergePreview;

use super::stage::{GitFixture, branch, write};

#[test]
fn conductor_7_a_branch_that_continues_the_persons_moves_it_forward() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "new ä\n", "x");
    stage.write("untracked", "mine");
    assert_eq!(stage.checkout().preview(&branch(1)).unwrap(), MergePreview::Forward);
    let before = stage.last();
    let done = stage.checkout().integrate(&branch(1)).unwrap();
    assert_eq!((done.into.as_str(), &done.before), ("main", &before));
    assert_eq!(Some(&done.after), stage.checkout().tip(&branch(1)).unwrap().as_ref());
    assert_eq!(stage.last(), done.after);
    assert_eq!(fs::read_to_string(stage.root().join("new ä\n")).unwrap(), "x");
    assert_eq!(stage.git(&["status", "--porcelain"]).trim(), "?? untracked");

    let all = stage.persons();
    let again = stage.checkout().integrate(&branch(1)).unwrap();
    assert_eq!(again.before, again.after);
    assert_eq!(stage.checkout().preview(&branch(1)).unwrap(), MergePreview::Nothing);
    all.unchanged_in(&stage, &"nothing to do");
}

#[test]
fn conductor_7_two_sides_are_merged_with_the_persons_first_and_git_says_it_is_in() {
    let stage = GitFixture::new();
    let worktree = stage.run_that_wrote(1, "theirs", "x");
    stage.commit("ours", "y");
    stage.write("untracked", "mine");
    let (head, tip) = (stage.last(), stage.checkout().tip(&branch(1)).unwrap().unwrap());
    assert_eq!(stage.checkout().preview(&branch(1)).unwrap(), MergePreview::Merge);
    let done = stage.checkout().integrate(&branch(1)).unwrap();
    let parents = stage.git(&["log", "-1", "--format=%P|%an|%s"]);
    let message = format!("Merge branch '{}' into main", branch(1));
    assert_eq!(parents.trim(), format!("{head} {tip}|A Person|{message}"));
    assert_eq!(stage.last(), done.after);
    assert!(stage.checkout().is_in(&tip, &done.after).unwrap());
    for (name, text) in [("ours", "y"), ("theirs", "x"), ("untracked", "mine")] {
        assert_eq!(fs::read_to_string(stage.root().join(name)).unwrap(), text);
    }
    assert_eq!(stage.git(&["status", "--porcelain"]).trim(), "?? untracked");
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 2 + 2, "{worktree:?}");

    // The run continues and is integrated again.
    write(worktree.top(), "theirs", "z");
    worktree.commit_all(&branch(1), "more").unwrap();
    stage.checkout().integrate(&branch(1)).unwrap();
    assert_eq!(fs::read_to_string(stage.root().join("theirs")).unwrap(), "z");
}

#[test]
fn a_hook_that_fails_when_all_is_done_is_told_and_undoes_nothing() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "new", "x");
    stage.hook("post-merge", "echo 'npm: offline' >&2; exit 5");
    let done = stage.checkout().integrate(&branch(1)).unwrap();
    let hook = done.hook.expect("it failed");
    assert_eq!((hook.name.as_str(), hook.code), ("post-merge", 5));
    assert!(hook.words.contains("npm: offline"));
    assert_eq!(stage.last(), done.after);
}

#[test]
fn what_a_killed_integration_left_is_not_in_the_way_of_the_next() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "theirs", "x");
    stage.commit("ours", "y");
    let aside = stage.scratch().join("merge");
    // Killed in the middle of the merge, and before git knew the folder.
    stage.git(&["worktree", "add", "--quiet", "--detach", aside.to_str().unwrap()]);
    fs::write(aside.join("plain.txt"), "half").unwrap();
    stage.checkout().integrate(&branch(1)).unwrap();
    assert!(!aside.exists());

    stage.run_that_wrote(2, "more", "x");
    stage.commit("ours", "z");
    fs::create_dir(&aside).unwrap();
    fs::write(aside.join("plain.txt"), "half").unwrap();
    stage.checkout().integrate(&branch(2)).unwrap();
    assert!(!aside.exists());
}

#[test]
fn the_person_may_be_in_a_worktree_of_their_own_on_another_branch() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "new", "x");
    let second = stage.folder.path().join("second");
    stage.git(&["worktree", "add", "--quiet", "-b", "feature", second.to_str().unwrap()]);
    let main = stage.last();
    let done = super::stage::checkout(&stage.omx_git(), &second).integrate(&branch(1)).unwrap();
    assert_eq!(done.into, "feature");
    assert!(second.join("new").exists());
    assert_eq!(stage.last(), main);
}

//! A worktree of a run's own.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use omx_runs::git::{GitError, WorktreeOrigin};
use omx_testkit::await_condition;

use super::stage::{GitFixture, NAMES, branch, write};

#[test]
fn a_worktree_is_made_from_the_last_commit_and_leaves_a_dirty_checkout_to_the_byte() {
    let stage = GitFixture::new();
    stage.write("plain.txt", "changed\n");
    stage.write("with space", "staged\n");
    stage.git(&["add", "with space"]);
    stage.write("untracked", "x");
    fs::create_dir_all(stage.root().join(".omx")).unwrap();
    let path = stage.worktree_path(1);
    let status = stage.git(&["status", "--porcelain", "-uall"]);
    let (last, before) = (stage.last(), stage.persons());
    let added = stage.checkout().add_worktree(&path, &branch(1), &last).unwrap();
    before.unchanged_in(&stage, &"a new worktree");
    assert_eq!(stage.git(&["status", "--porcelain", "-uall"]), status);
    assert_eq!(added.origin, WorktreeOrigin::New);
    assert_eq!(added.checkout.top(), path);
    for name in NAMES {
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), "one\ntwo\nthree\n", "{name:?}");
    }
    assert!(!path.join("untracked").exists() && !path.join(".omx").exists());
    let name = stage.git_in(&path, &["symbolic-ref", "HEAD"]);
    assert_eq!(name.trim(), branch(1).reference());
    assert!(name.contains("refs/heads/omx-run/0"));
}

#[test]
fn conductor_3_2_going_on_finds_the_worktree_with_what_is_in_it_or_makes_it_anew() {
    let stage = GitFixture::new();
    let worktree = stage.run_that_wrote(1, "done", "x");
    write(worktree.top(), "half-done", "y");
    stage.commit("later", "the person goes on");
    let path = stage.worktree_path(1);
    let add = || stage.checkout().add_worktree(&path, &branch(1), &stage.last()).unwrap();
    assert_eq!(add().origin, WorktreeOrigin::Found);
    assert!(path.join("half-done").exists() && !path.join("later").exists());

    fs::remove_dir_all(&path).unwrap();
    assert_eq!(add().origin, WorktreeOrigin::Restored);
    assert!(path.join("done").exists(), "what was committed is on the branch");
    assert_eq!(add().origin, WorktreeOrigin::Found);

    fs::remove_dir_all(&path).unwrap();
    stage.git(&["worktree", "prune"]);
    assert_eq!(add().origin, WorktreeOrigin::Restored);
    assert!(path.join("done").exists());
}

#[test]
fn a_worktree_that_a_killed_git_left_half_made_is_made_anew() {
    let stage = GitFixture::new();
    let begun = stage.folder.path().join("begun");
    let hang = format!("echo > '{}'; sleep 300", begun.display());
    stage.write(".gitattributes", "slow filter=slow\n");
    stage.commit("slow", "x");
    let path = stage.worktree_path(1);
    for leaves_pointer in [true, false] {
        stage.git(&["config", "filter.slow.smudge", &hang]);
        let _ = fs::remove_file(&begun);
        let name = branch(1).as_str().to_owned();
        let text = path.to_str().unwrap();
        let args = if stage.checkout().tip(&branch(1)).unwrap().is_some() {
            vec!["worktree", "add", text, &name]
        } else {
            vec!["worktree", "add", "-b", &name, text, "HEAD"]
        };
        let mut command: Command = stage.command(&stage.root(), &args);
        let mut git = command.process_group(0).spawn().unwrap();
        await_condition("the filter", Duration::from_secs(20), || begun.exists());
        // The whole group, which is this git with what it started.
        let group = rustix::process::Pid::from_child(&git);
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        git.wait().unwrap();
        assert!(path.exists() && !path.join("with space").exists() || leaves_pointer);
        if !leaves_pointer {
            fs::remove_file(path.join(".git")).unwrap();
        }
        stage.git(&["config", "filter.slow.smudge", "cat"]);
        let last = stage.last();
        let added = stage.checkout().add_worktree(&path, &branch(1), &last).unwrap();
        assert_eq!(added.checkout.status().unwrap(), Default::default());
        for name in NAMES {
            assert!(path.join(name).exists(), "{name:?}");
        }
        stage.git(&["worktree", "remove", text]);
    }
}

#[test]
fn what_is_no_worktree_of_the_run_is_refused_and_stays() {
    let stage = GitFixture::new();
    let last = stage.last();
    let path = stage.worktree_path(1);
    let add = || stage.checkout().add_worktree(&path, &branch(1), &last);

    write(&path, "mine", "x");
    assert!(matches!(add().unwrap_err(), GitError::Occupied { .. }));
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "x");
    assert!(stage.checkout().tip(&branch(1)).unwrap().is_none(), "no branch is left behind");
    fs::remove_dir_all(&path).unwrap();

    add().unwrap();
    stage.git_in(&path, &["switch", "--quiet", "-c", "elsewhere"]);
    let error = add().unwrap_err();
    assert!(error.to_string().contains("has branch elsewhere checked out"), "{error}");
    stage.git_in(&path, &["switch", "--quiet", "--detach"]);
    assert!(matches!(add().unwrap_err(), GitError::WrongBranch { .. }));

    let missing = stage.folder.path().join("no/such/folder");
    let error = stage.checkout().add_worktree(&missing, &branch(2), &last).unwrap_err();
    assert!(matches!(error, GitError::Io { .. }), "{error}");
}

#[test]
fn trust_3_1_no_hook_runs_when_a_worktree_is_made() {
    let stage = GitFixture::new();
    let ran = stage.folder.path().join("ran");
    stage.hook("post-checkout", &format!("echo > '{}'", ran.display()));
    let path = stage.worktree_path(1);
    stage.checkout().add_worktree(&path, &branch(1), &stage.last()).unwrap();
    assert!(path.join(NAMES[0]).exists() && !ran.exists());
}

#[test]
fn a_project_below_the_top_of_its_repository_has_its_folder_in_the_worktree() {
    let stage = GitFixture::new();
    stage.commit("packages/a b/file", "x");
    let below = stage.root().join("packages/a b");
    let project = super::stage::checkout(&stage.omx_git(), &below);
    let path = stage.worktree_path(1);
    let added = project.add_worktree(&path, &branch(1), &stage.last()).unwrap();
    let folder = added.checkout.top().join(project.prefix());
    assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "x");
    assert_eq!(folder, path.join(Path::new("packages/a b/")));
}

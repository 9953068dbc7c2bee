//! quality.md R11: whatever stands against an integration, the person's
//! checkout stays as it is to the byte, with index and branch; both sides are
//! kept, and the cause is named.

use std::fs;
use std::path::{Path, PathBuf};

use omx_runs::git::{GitError, MergePreview};

use super::stage::{GitFixture, branch};

/// Integrates; it must be refused and leave everything of the person's alone.
#[track_caller]
fn refused(stage: &GitFixture) -> GitError {
    let (before, tip) = (stage.persons(), stage.checkout().tip(&branch(1)).unwrap());
    let worktrees = stage.git(&["worktree", "list"]);
    let error = stage.checkout().integrate(&branch(1)).unwrap_err();
    before.unchanged_in(stage, &error);
    assert_eq!(stage.checkout().tip(&branch(1)).unwrap(), tip, "{error}");
    assert_eq!(stage.git(&["worktree", "list"]), worktrees, "{error}");
    error
}

/// A run and a person who changed different things.
fn both_sides() -> GitFixture {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "theirs", "x");
    stage.commit("ours", "y");
    stage
}

#[test]
fn r11_a_conflict() {
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "line\nbreak", "theirs\n");
    stage.commit("line\nbreak", "ours\n");
    let files = vec![PathBuf::from("line\nbreak")];
    assert_eq!(
        stage.checkout().preview(&branch(1)).unwrap(),
        MergePreview::Conflict(files.clone())
    );
    let error = refused(&stage);
    assert!(matches!(&error, GitError::Conflict { files: found } if *found == files), "{error}");
    let worktree = stage.worktree_path(1);
    assert_eq!(fs::read_to_string(worktree.join("line\nbreak")).unwrap(), "theirs\n");
}

#[test]
fn r11_a_dirty_checkout() {
    let stage = both_sides();
    stage.write("plain.txt", "not staged\n");
    let is_dirty = |error: &GitError, file: &str| matches!(error, GitError::Dirty { files } if files[..] == [Path::new(file)]);
    let error = refused(&stage);
    assert!(is_dirty(&error, "plain.txt"), "{error}");
    stage.git(&["add", "plain.txt"]);
    assert!(is_dirty(&refused(&stage), "plain.txt"));
    stage.git(&["reset", "--quiet", "--hard"]);
    fs::remove_file(stage.root().join("-rf")).unwrap();
    assert!(is_dirty(&refused(&stage), "-rf"));
    stage.git(&["reset", "--quiet", "--hard"]);
    stage.checkout().integrate(&branch(1)).unwrap();
}

#[test]
fn r11_a_failing_hook() {
    for name in ["pre-merge-commit", "commit-msg", "prepare-commit-msg"] {
        let stage = both_sides();
        stage.hook(name, "echo 'policy: no'; exit 3");
        let error = refused(&stage);
        let GitError::Hook { hook } = &error else { panic!("{error}") };
        assert_eq!((hook.name.as_str(), hook.code), (name, 3));
        assert!(error.to_string().contains("policy: no"), "{error}");
    }
}

#[test]
fn r11_no_identity() {
    let stage = both_sides();
    stage.git(&["config", "--unset", "user.email"]);
    let error = refused(&stage);
    assert!(matches!(error, GitError::NoIdentity), "{error}");
    assert!(error.to_string().contains("git config --global user.email"), "{error}");

    // Moving forward makes no commit and needs nobody's name.
    let stage = GitFixture::new();
    stage.run_that_wrote(1, "theirs", "x");
    stage.git(&["config", "--unset", "user.email"]);
    stage.checkout().integrate(&branch(1)).unwrap();
}

#[test]
fn a_merge_in_progress_no_branch_and_no_commit_are_named() {
    let stage = both_sides();
    stage.git(&["switch", "--quiet", "-c", "other", "HEAD~"]);
    stage.commit("ours", "other");
    stage.git(&["switch", "--quiet", "main"]);
    assert!(!stage.command(&stage.root(), &["merge", "other"]).output().unwrap().status.success());
    let error = refused(&stage);
    assert!(matches!(error, GitError::InProgress { .. }), "{error}");
    stage.git(&["merge", "--abort"]);

    stage.git(&["switch", "--quiet", "--detach"]);
    let error = refused(&stage);
    assert!(matches!(error, GitError::Detached), "{error}");
    assert!(error.to_string().contains("git switch"), "{error}");

    let stage = GitFixture::new();
    let error = refused(&stage);
    assert!(
        matches!(&error, GitError::NoBranch { branch: name } if *name == branch(1).to_string())
    );
    let error = refused(&GitFixture::empty());
    assert!(matches!(error, GitError::NoCommit), "{error}");
}

#[test]
fn a_file_of_the_persons_that_is_not_in_git_is_never_overwritten() {
    for (name, ours, theirs) in [
        ("untracked", "untracked", "untracked"),
        ("ignored", "ignored", "ignored"),
        ("an empty link", "dangling", "dangling"),
        ("a file where a folder comes", "folder", "folder/file"),
    ] {
        for is_merge in [false, true] {
            let stage = GitFixture::new();
            let worktree = stage.worktree(1);
            super::stage::write(worktree.top(), theirs, "theirs");
            stage.git_in(worktree.top(), &["add", "-f", "."]);
            stage.git_in(worktree.top(), &["commit", "--quiet", "-m", "x"]);
            if is_merge {
                stage.commit("other", "y");
            }
            if ours == "dangling" {
                std::os::unix::fs::symlink("nowhere", stage.root().join(ours)).unwrap();
            } else {
                stage.write(ours, "mine");
            }
            let error = refused(&stage);
            let expected = [PathBuf::from(ours)];
            let named = matches!(&error, GitError::InTheWay { files } if files[..] == expected);
            assert!(named, "{name}: {error}");
        }
    }
}

#[test]
fn a_commit_of_the_persons_in_the_meantime_is_not_lost() {
    let stage = both_sides();
    // The person commits while the merge is being made.
    let script = format!(
        "cd '{}' && unset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE && \
         git commit --quiet --allow-empty --no-verify -m meanwhile",
        stage.root().display()
    );
    stage.hook("pre-merge-commit", &script);
    let error = stage.checkout().integrate(&branch(1)).unwrap_err();
    assert!(matches!(&error, GitError::Moved { branch } if branch == "main"), "{error}");
    assert_eq!(stage.git(&["log", "-1", "--format=%s"]).trim(), "meanwhile");
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
    fs::remove_file(stage.root().join(".git/hooks/pre-merge-commit")).unwrap();
    stage.checkout().integrate(&branch(1)).unwrap();
    assert!(stage.git(&["log", "--format=%s"]).contains("meanwhile"));
}

#[test]
fn histories_that_have_nothing_in_common_are_refused_in_gits_words() {
    let stage = GitFixture::new();
    stage.git(&["switch", "--quiet", "--orphan", branch(1).as_str()]);
    stage.commit("other", "x");
    stage.git(&["switch", "--quiet", "main"]);
    let error = refused(&stage);
    assert!(error.to_string().contains("unrelated histories"), "{error}");
}

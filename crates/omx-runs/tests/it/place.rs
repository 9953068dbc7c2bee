//! Where a folder stands, and what a checkout is in the middle of.

use std::fs;
use std::path::Path;

use omx_runs::git::{Git, GitError, GitLimits, GitLocation, GitOperation, Head};

use super::stage::{GitFixture, branch, checkout, program, write};

#[test]
fn a_folder_stands_outside_in_a_bare_repository_or_in_a_checkout() {
    let stage = GitFixture::new();
    let git = stage.omx_git();
    assert!(matches!(git.locate(&stage.folder.path().join("home")).unwrap(), GitLocation::Outside));
    assert!(matches!(git.locate(&stage.root().join(".git")).unwrap(), GitLocation::Outside));
    let bare = stage.folder.path().join("bare");
    stage.git_in(stage.folder.path(), &["init", "--quiet", "--bare", "bare"]);
    assert!(matches!(git.locate(&bare).unwrap(), GitLocation::Bare));

    let below = stage.root().join("a b/\nc");
    fs::create_dir_all(&below).unwrap();
    let found = checkout(&git, &below);
    assert_eq!(found.top(), stage.root());
    assert_eq!(found.prefix(), Path::new("a b/\nc/"));
    assert_eq!(checkout(&git, &stage.root()).prefix(), Path::new(""));
}

#[test]
fn what_is_checked_out_is_told_apart() {
    let stage = GitFixture::empty();
    assert_eq!(stage.checkout().head().unwrap(), Head::Unborn);
    let stage = GitFixture::new();
    let commit = stage.last();
    let on = |name: &str| Head::Branch { name: name.into(), commit: commit.clone() };
    assert_eq!(stage.checkout().head().unwrap(), on("main"));
    stage.git(&["switch", "--quiet", "-c", "feature/x"]);
    assert_eq!(stage.checkout().head().unwrap(), on("feature/x"));
    stage.git(&["switch", "--quiet", "--detach"]);
    assert_eq!(stage.checkout().head().unwrap(), Head::Detached(commit));
}

#[test]
fn what_was_begun_and_not_ended_is_named() {
    let begun = |args: &[&str]| {
        let stage = GitFixture::new();
        stage.git(&["switch", "--quiet", "-c", "other"]);
        stage.commit("plain.txt", "other\n");
        stage.git(&["switch", "--quiet", "main"]);
        stage.commit("plain.txt", "main\n");
        assert_eq!(stage.checkout().operation(), None);
        let status = stage.command(&stage.root(), args).output().unwrap().status;
        assert!(!status.success() || args[0] == "bisect");
        stage.checkout().operation()
    };
    assert_eq!(begun(&["merge", "other"]), Some(GitOperation::Merge));
    assert_eq!(begun(&["rebase", "other"]), Some(GitOperation::Rebase));
    assert_eq!(begun(&["cherry-pick", "other"]), Some(GitOperation::CherryPick));
    assert_eq!(begun(&["revert", "other"]), Some(GitOperation::Revert));
    assert_eq!(begun(&["bisect", "start"]), Some(GitOperation::Bisect));
}

#[test]
fn what_is_not_committed_is_told_by_its_kind_and_looking_writes_nothing() {
    let stage = GitFixture::new();
    stage.write("plain.txt", "changed\n");
    stage.write("line\nbreak", "staged\n");
    stage.git(&["add", "line\nbreak"]);
    stage.git(&["rm", "--quiet", "-f", "--", "-rf"]);
    stage.write("ümläut-2\n😀", "new");
    stage.write("folder/a", "new");
    stage.write("ignored", "no");
    // An index that needs a refresh is one that looking likes to write.
    let file = fs::File::options().write(true).open(stage.root().join("with space")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let before = stage.persons();
    let status = stage.checkout().status().unwrap();
    let mut changed: Vec<_> = status.changed.iter().map(|path| path.to_str().unwrap()).collect();
    changed.sort_unstable();
    assert_eq!(changed, ["-rf", "line\nbreak", "plain.txt"]);
    let untracked: Vec<_> = status.untracked.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(untracked, ["folder/", "ümläut-2\n😀"]);
    assert!(!status.is_clean() && status.unmerged.is_empty());
    before.unchanged_in(&stage, &"looking");
}

#[test]
fn variables_that_turn_git_to_another_repository_turn_nothing() {
    let mut stage = GitFixture::new();
    let other = GitFixture::new();
    let expected = stage.last();
    for (name, value) in [
        ("GIT_DIR", other.root().join(".git")),
        ("GIT_WORK_TREE", other.root()),
        ("GIT_INDEX_FILE", other.root().join(".git/index")),
        ("GIT_COMMON_DIR", other.root().join(".git")),
        ("GIT_OBJECT_DIRECTORY", other.root().join(".git/objects")),
        ("GIT_NAMESPACE", "n".into()),
        ("GIT_EXTERNAL_DIFF", "/bin/false".into()),
        ("GIT_CONFIG_PARAMETERS", "'user.name=Somebody Else'".into()),
    ] {
        stage.environment.insert(name.into(), value.into());
    }
    let found = stage.checkout();
    assert_eq!(found.top(), stage.root());
    assert!(matches!(found.head().unwrap(), Head::Branch { commit, .. } if commit == expected));
    found.tree().unwrap();
    assert!(found.status().unwrap().is_clean());
    let worktree = stage.worktree(1);
    write(worktree.top(), "new", "x");
    worktree.commit_all(&branch(1), "m").unwrap();
    stage.environment.retain(|name, _| !name.to_string_lossy().starts_with("GIT_"));
    let author = stage.git(&["log", "-1", "--format=%an", branch(1).as_str()]);
    assert_eq!(author.trim(), "A Person");
}

/// git in a place that it believes to be somebody else's: its own tests do so.
fn in_a_strange_place(stage: &GitFixture) -> Git {
    let path = stage.folder.path().join("git");
    program(&path, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec git \"$@\"");
    Git::new(path, &stage.environment, stage.scratch(), GitLimits::default())
}

#[test]
fn a_missing_git_and_a_folder_of_somebody_else_are_named_with_what_to_do() {
    let stage = GitFixture::new();
    let none =
        Git::new("/nowhere/git".into(), &stage.environment, stage.scratch(), GitLimits::default());
    let error = none.locate(&stage.root()).unwrap_err();
    assert!(matches!(error, GitError::NotInstalled { .. }), "{error}");
    let error = in_a_strange_place(&stage).locate(&stage.root()).unwrap_err();
    assert!(matches!(error, GitError::NotTrusted { .. }), "{error}");
    assert!(error.to_string().contains("git config --global --add safe.directory"), "{error}");
}

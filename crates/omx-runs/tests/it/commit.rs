//! Committing a run's work.

use std::fs;

use omx_runs::git::{CommitIdentity, CommitOutcome, GitError};

use super::stage::{GitFixture, NAMES, branch, write};

#[test]
fn everything_that_is_not_ignored_is_committed_in_the_persons_name() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    for name in NAMES {
        write(worktree.top(), &format!("new/{name}"), "x");
    }
    fs::remove_file(worktree.top().join("plain.txt")).unwrap();
    write(worktree.top(), "a.log", "ignored");
    let before = stage.persons();
    let message = "Step 1\n\n# not a comment\n\"quoted\" $(no) `shell`\0 --amend";
    let done = worktree.commit_all(&branch(1), message).unwrap();
    before.unchanged_in(&stage, &"committing elsewhere");
    let CommitOutcome::Commit { commit, identity } = done else { panic!("{done:?}") };
    assert_eq!(identity, CommitIdentity::Person);
    assert_eq!(worktree.tip(&branch(1)).unwrap(), Some(commit.clone()));
    assert!(worktree.status().unwrap().is_clean());
    let output = stage.git(&["show", "--no-patch", "--format=%an <%ae>%n%B", commit.as_str()]);
    let expected = "A Person <person@example.com>\nStep 1\n\n# not a comment\n\
                    \"quoted\" $(no) `shell` --amend\n\n";
    assert_eq!(output, expected);
    let files = stage.git(&["ls-tree", "-r", "-z", "--name-only", commit.as_str()]);
    let files: Vec<&str> = files.split_terminator('\0').collect();
    assert!(NAMES.iter().all(|name| files.contains(&format!("new/{name}").as_str())), "{files:?}");
    assert!(!files.contains(&"plain.txt") && !files.contains(&"a.log"), "{files:?}");

    assert_eq!(worktree.commit_all(&branch(1), "again").unwrap(), CommitOutcome::Nothing(commit));
}

#[test]
fn where_git_knows_nobody_a_run_commits_in_its_own_name_and_says_so() {
    let stage = GitFixture::new();
    stage.git(&["config", "--unset", "user.name"]);
    stage.git(&["config", "--unset", "user.email"]);
    let worktree = stage.worktree(1);
    write(worktree.top(), "new", "x");
    let done = worktree.commit_all(&branch(1), "m").unwrap();
    assert!(
        matches!(done, CommitOutcome::Commit { identity: CommitIdentity::Omx, .. }),
        "{done:?}"
    );
    let who = stage.git(&["log", "-1", "--format=%an %ae %cn %ce", branch(1).as_str()]);
    assert_eq!(who.trim(), "omx omx@localhost omx omx@localhost");
    assert!(
        stage.command(&stage.root(), &["config", "user.name"]).output().unwrap().stdout.is_empty()
    );
}

#[test]
fn nothing_is_signed_and_nobody_is_asked() {
    let stage = GitFixture::new();
    let spec = stage.folder.path().join("asked");
    stage.hook("sign", &format!("echo > '{}'; exit 1", spec.display()));
    let program = stage.root().join(".git/hooks/sign");
    stage.git(&["config", "commit.gpgSign", "true"]);
    stage.git(&["config", "gpg.program", program.to_str().unwrap()]);
    stage.git(&["config", "core.editor", program.to_str().unwrap()]);
    let worktree = stage.worktree(1);
    write(worktree.top(), "new", "x");
    worktree.commit_all(&branch(1), "m").unwrap();
    assert!(!spec.exists());
}

#[test]
fn trust_3_1_no_hook_runs_at_a_commit() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    write(worktree.top(), "new", "x");
    let ran = stage.folder.path().join("ran");
    for name in ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit"] {
        stage.hook(name, &format!("echo > '{}'; exit 9", ran.display()));
    }
    let worktree = stage.checkout().worktree(worktree.top()).unwrap();
    worktree.commit_all(&branch(1), "m").unwrap();
    assert!(!ran.exists());
}

#[test]
fn trust_6_2_control_characters_do_not_reach_the_commit_message() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    write(worktree.top(), "new", "x");
    worktree.commit_all(&branch(1), "\n\u{1b}[2Jclear\u{7}\u{9b}31m \r\nmore\t1  \n\n").unwrap();
    let message = stage.git(&["log", "-1", "--format=%B", branch(1).as_str()]);
    assert_eq!(message, "[2Jclear31m\nmore\t1\n\n");
}

#[test]
fn a_worktree_on_another_branch_or_in_the_middle_of_something_is_not_committed() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    write(worktree.top(), "plain.txt", "ours\n");
    worktree.commit_all(&branch(1), "m").unwrap();
    stage.commit("plain.txt", "theirs\n");
    let merge = stage.command(worktree.top(), &["merge", "main"]).output().unwrap();
    assert!(!merge.status.success());
    let error = worktree.commit_all(&branch(1), "m").unwrap_err();
    assert!(matches!(error, GitError::InProgress { .. }), "{error}");
    assert!(error.to_string().contains("git merge --abort"), "{error}");
    // Without git's note of the merge the conflict is still one.
    stage.git_in(worktree.top(), &["merge", "--quit"]);
    let error = worktree.commit_all(&branch(1), "m").unwrap_err();
    assert!(matches!(&error, GitError::Conflict { files } if files.len() == 1), "{error}");

    stage.write("plain.txt", "the person's\n");
    let before = stage.persons();
    let error = stage.checkout().commit_all(&branch(1), "m").unwrap_err();
    assert!(matches!(error, GitError::WrongBranch { .. }), "{error}");
    before.unchanged_in(&stage, &error);
}

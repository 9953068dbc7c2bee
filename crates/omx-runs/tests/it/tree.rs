//! The hash of what is in a checkout, committed or not.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use omx_runs::git::GitError;

use super::stage::{GitFixture, NAMES, program, write};

#[test]
fn conductor_3_1_the_same_content_has_the_same_hash_and_one_byte_makes_another() {
    let stage = GitFixture::new();
    let (one, two) = (stage.worktree(1), stage.worktree(2));
    let clean = one.tree().unwrap();
    assert_eq!(two.tree().unwrap(), clean);
    assert_eq!(stage.checkout().tree().unwrap(), clean, "omx's own folder does not count");
    assert_eq!(clean.as_str(), stage.git(&["rev-parse", "HEAD^{tree}"]).trim());

    for name in NAMES {
        write(one.top(), name, "one\ntwo\nthrEe\n");
        let changed = one.tree().unwrap();
        assert_ne!(changed, clean, "{name}");
        write(two.top(), name, "one\ntwo\nthrEe\n");
        assert_eq!(two.tree().unwrap(), changed, "{name}");
        for worktree in [&one, &two] {
            write(worktree.top(), name, "one\ntwo\nthree\n");
            assert_eq!(worktree.tree().unwrap(), clean, "{name}");
        }
    }
}

#[test]
fn a_change_in_the_very_moment_in_which_the_index_was_written_is_seen() {
    let stage = GitFixture::new();
    stage.git(&["config", "core.trustctime", "false"]);
    let worktree = stage.worktree(1);
    let moment = SystemTime::now() - Duration::from_secs(60);
    let set = |file: &Path| {
        let file = File::options().write(true).open(file).unwrap();
        file.set_modified(moment).unwrap();
    };
    let file = write(worktree.top(), "plain.txt", "one");
    set(&file);
    stage.git_in(worktree.top(), &["commit", "--quiet", "-am", "x"]);
    let committed = worktree.tree().unwrap();
    // As long as before, at the same time as before, and at that of the index:
    // only because of the last, git looks into the file.
    write(worktree.top(), "plain.txt", "two");
    set(&file);
    let index = stage.git_in(worktree.top(), &["rev-parse", "--git-path", "index"]);
    set(Path::new(index.strip_suffix('\n').unwrap()));
    assert_ne!(worktree.tree().unwrap(), committed);
}

#[test]
fn new_files_rights_and_links_count_and_ignored_files_do_not() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    let tree = || worktree.tree().unwrap();
    let clean = tree();
    write(worktree.top(), "ignored", "x");
    write(worktree.top(), "deep/er/a.log", "x");
    fs::create_dir(worktree.top().join("empty")).unwrap();
    assert_eq!(tree(), clean);

    let new = write(worktree.top(), "new\nfile ä", "x");
    assert_ne!(tree(), clean);
    fs::remove_file(new).unwrap();
    assert_eq!(tree(), clean);

    let plain = worktree.top().join("plain.txt");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o755)).unwrap();
    assert_ne!(tree(), clean);
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(tree(), clean);

    fs::remove_file(&plain).unwrap();
    let without = tree();
    symlink("with space", &plain).unwrap();
    let link = tree();
    assert!(without != clean && link != clean && link != without);
}

#[test]
fn a_file_that_is_in_git_counts_even_if_it_is_ignored() {
    let stage = GitFixture::new();
    stage.write("ignored", "in git all the same");
    stage.git(&["add", "-f", "ignored"]);
    stage.git(&["commit", "--quiet", "-m", "more"]);
    let worktree = stage.worktree(1);
    let clean = worktree.tree().unwrap();
    write(worktree.top(), "ignored", "changed");
    assert_ne!(worktree.tree().unwrap(), clean);
}

#[test]
fn taking_the_hash_leaves_index_and_files_to_the_byte() {
    let stage = GitFixture::new();
    stage.write("plain.txt", "staged\n");
    stage.git(&["add", "plain.txt"]);
    stage.write("plain.txt", "and changed\n");
    stage.write("new", "x");
    let before = stage.persons();
    let hash = stage.checkout().tree().unwrap();
    before.unchanged_in(&stage, &"the hash");
    let output = stage.git(&["show", &format!("{hash}:plain.txt")]);
    assert_eq!(output, "and changed\n");
}

#[test]
fn a_repository_without_a_commit_has_a_hash_too() {
    let stage = GitFixture::empty();
    stage.write("a", "x");
    let one = stage.checkout().tree().unwrap();
    stage.write("a", "y");
    assert_ne!(stage.checkout().tree().unwrap(), one);
}

#[test]
fn submodules_and_filters_as_of_large_files_need_nothing_special() {
    let mut stage = GitFixture::new();
    let other = GitFixture::new();
    stage.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        other.root().to_str().unwrap(),
        "sub",
    ]);
    // A stand-in for the filter of large files, which omx knows by its name.
    let script = "if test \"$1\" = clean; then tr a-z A-Z; else tr A-Z a-z; fi";
    program(&stage.folder.path().join("bin/git-lfs"), script);
    let path = std::env::join_paths(
        [stage.folder.path().join("bin")]
            .into_iter()
            .chain(std::env::split_paths(&stage.environment[OsStr::new("PATH")])),
    );
    stage.environment.insert("PATH".into(), path.unwrap());
    stage.git(&["config", "filter.big.clean", "git-lfs clean -- %f"]);
    stage.git(&["config", "filter.big.smudge", "git-lfs smudge -- %f"]);
    stage.write(".gitattributes", "*.big filter=big\n");
    stage.write("x.big", "content\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "--quiet", "-m", "more"]);
    let worktree = stage.worktree(1);
    assert_eq!(fs::read_to_string(worktree.top().join("x.big")).unwrap(), "content\n");
    let clean = worktree.tree().unwrap();
    assert_eq!(clean.as_str(), stage.git(&["rev-parse", "HEAD^{tree}"]).trim());
    assert_eq!(stage.checkout().tree().unwrap(), clean);
    write(worktree.top(), "x.big", "contens\n");
    assert_ne!(worktree.tree().unwrap(), clean);
}

#[test]
fn trust_3_0b_a_repository_in_the_worktree_is_named() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    fs::create_dir(worktree.top().join("inner")).unwrap();
    stage.git_in(&worktree.top().join("inner"), &["init", "--quiet"]);
    let error = worktree.tree().unwrap_err();
    assert!(
        matches!(&error, GitError::Nested { folders, .. } if folders[0] == Path::new("inner")),
        "{error}"
    );
}

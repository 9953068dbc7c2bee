//! What differs.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use omx_runs::git::{ChangedFile, Head};

use super::stage::{GitFixture, NAMES, branch, write};

#[test]
fn every_changed_file_is_told_with_its_lines_whatever_its_name() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    let old = worktree.tree().unwrap();
    write(worktree.top(), "line\nbreak", "one\nTWO\nthree\nfour\n");
    write(worktree.top(), "new\tä/with space", "1\n2\n");
    write(worktree.top(), "binary", [0_u8, 159, 146, 150]);
    fs::remove_file(worktree.top().join("-rf")).unwrap();
    fs::remove_file(worktree.top().join("plain.txt")).unwrap();
    symlink("with space", worktree.top().join("plain.txt")).unwrap();
    let raw = std::ffi::OsStr::from_bytes(b"no \xff text");
    fs::write(worktree.top().join(raw), "1\n").unwrap();
    let new = worktree.tree().unwrap();
    let changes = worktree.changes(&old, &new).unwrap();
    let listed: Vec<_> = changes
        .files
        .iter()
        .map(|file| (file.path.as_os_str().as_bytes(), file.change, file.lines))
        .collect();
    assert_eq!(
        listed,
        [
            (&b"-rf"[..], ChangedFile::Deleted, Some((0, 3))),
            (b"binary", ChangedFile::Added, None),
            (b"line\nbreak", ChangedFile::Modified, Some((2, 1))),
            ("new\tä/with space".as_bytes(), ChangedFile::Added, Some((2, 0))),
            (b"no \xff text", ChangedFile::Added, Some((1, 0))),
            (b"plain.txt", ChangedFile::Turned, Some((1, 3))),
        ]
    );
    assert_eq!((changes.added(), changes.removed()), (6, 7));
    assert!(worktree.changes(&new, &new).unwrap().files.is_empty());
}

#[test]
fn commits_and_trees_compare_with_each_other() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    let first = stage.last();
    write(worktree.top(), NAMES[3], "x\n");
    let tree = worktree.tree().unwrap();
    let of_tree = worktree.changes(&first, &tree).unwrap();
    worktree.commit_all(&branch(1), "m").unwrap();
    let Head::Branch { commit, .. } = worktree.head().unwrap() else { panic!() };
    assert_eq!(worktree.changes(&first, &commit).unwrap(), of_tree);
    assert_eq!(of_tree.files.len(), 1);
}

#[test]
fn a_diff_is_whole_lines_of_text_and_not_longer_than_asked() {
    let stage = GitFixture::new();
    let worktree = stage.worktree(1);
    let old = worktree.tree().unwrap();
    write(worktree.top(), "a-binary", [0_u8, 1, 2, 255]);
    write(worktree.top(), "b-latin", b"caf\xe9\n");
    write(worktree.top(), "ümläut-😀", "line ä\n".repeat(10_000));
    let new = worktree.tree().unwrap();
    let whole = worktree.diff(&old, &new, 1 << 20).unwrap();
    assert_eq!(whole.left_out, 0);
    assert!(whole.text.contains("Binary files /dev/null and b/a-binary differ"), "{}", whole.text);
    assert!(whole.text.contains("+caf\u{fffd}\n"));
    assert!(whole.text.contains("+++ b/ümläut-😀"));
    // One byte of another alphabet became three of its replacement.
    let length = whole.text.len() - 2;
    for most in [0, 1, 100, 5_000, 5_001, 5_002, length - 1] {
        let part = worktree.diff(&old, &new, most).unwrap();
        assert!(part.text.len() <= most + 2, "{most}");
        assert!(part.text.is_empty() || part.text.ends_with('\n'), "{most}");
        assert!(whole.text.starts_with(&part.text), "{most}");
        let replaced = if part.text.contains('\u{fffd}') { 2 } else { 0 };
        assert_eq!(part.text.len() - replaced + part.left_out, length, "{most}");
    }
}

#[test]
fn programs_the_person_shows_differences_with_are_not_run() {
    let stage = GitFixture::new();
    let ran = stage.folder.path().join("ran");
    stage.hook("show", &format!("echo > '{}'; cat \"$1\"", ran.display()));
    let program = stage.root().join(".git/hooks/show").display().to_string().replace('\n', "\\n");
    stage.git(&["config", "diff.external", &program]);
    stage.git(&["config", "diff.odd.textconv", &program]);
    stage.git(&["config", "color.ui", "always"]);
    stage.write(".gitattributes", "* diff=odd\n");
    let worktree = stage.worktree(1);
    let old = worktree.tree().unwrap();
    write(worktree.top(), "plain.txt", "other\n");
    let diff = worktree.diff(&old, &worktree.tree().unwrap(), 10_000).unwrap();
    assert!(diff.text.contains("\n+other\n") && !diff.text.contains('\u{1b}'), "{}", diff.text);
    assert!(!ran.exists());
}

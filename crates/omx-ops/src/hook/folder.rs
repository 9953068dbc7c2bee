//! A fingerprint of a folder from a few small files: its commit and its index. Walks
//! no directory and starts no program.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use omx_process::git_dir::{find_worktree_top, git_dir};
use omx_process::read_plain_file;

/// The maximum size of a file of git that is read.
const MAX_BYTES: u64 = 64 * 1024;

/// Returns a text that changes with every commit and every change to the index.
pub fn standing(root: &Path) -> String {
    let Some(git) = find_worktree_top(root).and_then(git_dir) else { return String::new() };
    let head = read(&git.join("HEAD")).unwrap_or_default();
    // A worktree shares the branches of its main repository.
    let common =
        read(&git.join("commondir")).map_or_else(|_| git.clone(), |path| git.join(path.trim()));
    let commit = head.trim().strip_prefix("ref: ").map(|name| {
        read(&common.join(name)).unwrap_or_else(|_| stamp(&common.join("packed-refs")))
    });
    format!("{}{}{}", head, commit.unwrap_or_default(), stamp(&git.join("index")))
}

fn read(path: &Path) -> io::Result<String> {
    read_plain_file(path, MAX_BYTES)
}

fn stamp(path: &Path) -> String {
    fs::metadata(path).map_or_else(
        |_| String::new(),
        |file| format!("{} {} {}", file.mtime(), file.mtime_nsec(), file.size()),
    )
}

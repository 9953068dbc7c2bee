//! Reads the branch of a folder from git's own files. A status line is drawn at every
//! prompt, so it must not start a process.

use std::path::Path;

use omx_process::git_dir::{find_worktree_top, git_dir};
use omx_process::read_plain_file;

/// The maximum size of the file `HEAD`.
const MAX_HEAD_BYTES: u64 = 64 * 1024;

/// The branch of the working tree that contains this folder, or a short commit id if
/// no branch is checked out.
pub fn branch(folder: &Path) -> Option<String> {
    let git_dir = git_dir(find_worktree_top(folder)?)?;
    let head = read_plain_file(&git_dir.join("HEAD"), MAX_HEAD_BYTES).ok()?;
    let head = head.trim();
    match head.strip_prefix("ref: refs/heads/") {
        Some(name) => Some(name.to_owned()),
        None => {
            head.get(..7).filter(|id| id.bytes().all(|b| b.is_ascii_hexdigit())).map(str::to_owned)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn views_1_the_branch_is_read_from_a_repository_a_worktree_and_a_bare_commit() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(branch(root), None);
        fs::create_dir_all(root.join("repo/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("repo/src")).unwrap();
        fs::write(root.join("repo/.git/HEAD"), "ref: refs/heads/fix/parser\n").unwrap();
        assert_eq!(branch(&root.join("repo/src")).as_deref(), Some("fix/parser"));
        fs::write(root.join("repo/.git/HEAD"), "0123456789abcdef0123456789abcdef01234567\n")
            .unwrap();
        assert_eq!(branch(&root.join("repo")).as_deref(), Some("0123456"));
        fs::create_dir(root.join("w")).unwrap();
        fs::write(
            root.join("w/.git"),
            format!("gitdir: {}\n", root.join("repo/.git/worktrees/w").display()),
        )
        .unwrap();
        fs::write(root.join("repo/.git/worktrees/w/HEAD"), "ref: refs/heads/w\n").unwrap();
        assert_eq!(branch(&root.join("w")).as_deref(), Some("w"));
    }
}

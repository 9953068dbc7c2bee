//! Finds the git directory of a working tree from git's own files, without starting git.
//!
//! It lives in this crate because everything that needs it links this crate: agents,
//! runs, operations, views and the store have no other crate in common.

use std::path::{Path, PathBuf};

use crate::plain_file::read_plain_file;

/// The maximum size of a `.git` file.
const MAX_POINTER_BYTES: u64 = 64 * 1024;

/// The nearest directory at or above this one that has a `.git`: the top level of the
/// working tree.
pub fn find_worktree_top(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| directory.join(".git").exists())
}

/// The git directory of the working tree with this top level: `.git` itself, or, in a
/// linked worktree or a submodule, the directory that the file `.git` names.
pub fn git_dir(top: &Path) -> Option<PathBuf> {
    let git = top.join(".git");
    if git.is_dir() { Some(git) } else { read_git_pointer(&git) }
}

/// What a `.git` file names. A relative path is relative to the file's directory.
/// `None` if it is not such a file.
pub fn read_git_pointer(file: &Path) -> Option<PathBuf> {
    let text = read_plain_file(file, MAX_POINTER_BYTES).ok()?;
    // Only the line end is not part of the path.
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let path = line.strip_suffix('\r').unwrap_or(line).strip_prefix("gitdir:")?;
    Some(file.parent()?.join(path.strip_prefix(' ').unwrap_or(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_repository_and_its_worktree_have_their_git_directories() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        assert_eq!(git_dir(root), None);
        fs::create_dir_all(root.join("repository/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("repository/src")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        let top = find_worktree_top(&root.join("repository/src")).map(Path::to_owned).unwrap();
        assert_eq!(top, root.join("repository"));
        assert_eq!(git_dir(&top), Some(top.join(".git")));
        let expected = top.join(".git/worktrees/w");
        for text in [
            format!("gitdir: {}\n", expected.display()),
            format!("gitdir: {}", expected.display()),
            format!("gitdir:{}\r\n", expected.display()),
        ] {
            fs::write(root.join("w/.git"), text).unwrap();
            assert_eq!(git_dir(&root.join("w")), Some(expected.clone()));
        }
        fs::write(root.join("w/.git"), "gitdir: ../repository/.git/worktrees/w\n").unwrap();
        let relative = root.join("w/../repository/.git/worktrees/w");
        assert_eq!(git_dir(&root.join("w")), Some(relative));
    }

    #[test]
    fn other_text_is_no_pointer() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".git"), "not a pointer\n").unwrap();
        assert_eq!(git_dir(folder.path()), None);
    }
}

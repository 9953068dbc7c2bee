//! Trust in a folder. As soon as a conversation may write to a folder, codex
//! records it as trusted in the person's settings. To prevent that, each
//! conversation declares the folder untrusted, unless the person has decided.

use std::path::{Path, PathBuf};

use omx_process::git_dir::{find_worktree_top, read_git_pointer};

use super::config::CodexConfig;

/// The folders to declare untrusted: the folder itself, its repository, and the
/// main repository if it is a worktree.
pub(super) fn untrusted_folders(config: &CodexConfig, folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut folders = vec![folder];
    if let Some(root) = find_worktree_top(&folders[0]) {
        let root = root.to_owned();
        folders.extend(main_repository(&root));
        folders.push(root);
    }
    folders.sort();
    folders.dedup();
    if folders.iter().any(|folder| config.has_project(folder)) {
        return Vec::new();
    }
    folders
}

/// The repository a worktree belongs to: its `.git` is a file that names
/// `<repository>/.git/worktrees/<name>`.
fn main_repository(root: &Path) -> Option<PathBuf> {
    let git_dir = read_git_pointer(&root.join(".git"))?.canonicalize().ok()?;
    let common = git_dir.parent()?.parent()?;
    (common.file_name()? == ".git").then(|| common.parent().map(Path::to_owned))?
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_worktree_includes_its_main_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (main, tree) = (root.join("main"), root.join("tree"));
        fs::create_dir_all(main.join(".git/worktrees/tree")).unwrap();
        fs::create_dir_all(tree.join("inside")).unwrap();
        let place = main.join(".git/worktrees/tree");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", place.display())).unwrap();
        let found = untrusted_folders(&CodexConfig::default(), &tree.join("inside"));
        assert_eq!(found, [main, tree.clone(), tree.join("inside")]);
    }

    #[test]
    fn the_persons_own_trust_setting_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        fs::create_dir(root.join("inside")).unwrap();
        let text = format!("[projects.{root:?}]\ntrust_level = 'trusted'\n");
        fs::write(root.join("config.toml"), text).unwrap();
        assert!(
            untrusted_folders(&CodexConfig::read(Some(&root)), &root.join("inside")).is_empty()
        );
        assert_eq!(untrusted_folders(&CodexConfig::read(None), &root), [root]);
    }
}

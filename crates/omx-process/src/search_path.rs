//! Where programs are looked up. A relative entry of `PATH` depends on the folder a
//! program stands in, and a folder of the project holds what a repository or an agent
//! wrote there, so neither names a program that omx starts.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::git_dir::find_worktree_top;

/// The folders in which programs are looked up, in order. All of them are absolute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchPath {
    folders: Vec<PathBuf>,
}

impl SearchPath {
    /// The absolute folders of a `PATH`.
    pub fn new(path: &OsStr) -> Self {
        let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
        Self { folders: folders.collect() }
    }

    /// The same without folders inside this one, whatever links lead there.
    #[must_use]
    pub fn outside(self, project: &Path) -> Self {
        let project = std::fs::canonicalize(project).unwrap_or_else(|_| project.to_owned());
        let is_outside = |folder: &PathBuf| {
            let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
            !real.starts_with(&project) && !folder.starts_with(&project)
        };
        Self { folders: self.folders.into_iter().filter(is_outside).collect() }
    }

    /// The same without folders inside the git worktree that this place is in. A worktree
    /// that holds the whole home folder (somebody's dotfiles) is no project, and neither is
    /// a folder in which everybody can make one.
    #[must_use]
    pub fn outside_worktree_of(self, place: &Path, home: Option<&Path>) -> Self {
        let holds_home = |top: &Path| home.is_some_and(|home| home.starts_with(top));
        let is_open = |top: &Path| {
            std::fs::metadata(top).is_ok_and(|data| data.permissions().mode() & 0o002 != 0)
        };
        match find_worktree_top(place) {
            Some(top) if !holds_home(top) && !is_open(top) => self.outside(top),
            _ => self,
        }
    }

    /// The path of a program.
    pub fn find(&self, name: impl AsRef<Path>) -> Option<PathBuf> {
        let is_program = |file: &PathBuf| file.is_file() && access(file, Access::EXEC_OK).is_ok();
        self.folders.iter().map(|folder| folder.join(name.as_ref())).find(is_program)
    }

    /// The value of `PATH` with these folders.
    pub fn to_variable(&self) -> OsString {
        // No folder contains the separator: they were split at it.
        std::env::join_paths(&self.folders).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn trust_2_6_relative_folders_and_those_of_the_project_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let [project, tools] = ["project/bin", "tools"].map(|name| root.join(name));
        for folder in [&project, &tools] {
            std::fs::create_dir_all(folder).unwrap();
            let program = folder.join("git");
            std::fs::write(&program, "#!/bin/sh\n").unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let linked = root.join("linked");
        symlink(&project, &linked).unwrap();
        let entries = [Path::new(""), Path::new("."), Path::new("bin"), &project, &linked, &tools];
        let path = SearchPath::new(&std::env::join_paths(entries).unwrap());
        assert_eq!(path.find("git"), Some(project.join("git")));
        let path = path.outside(&root.join("project"));
        assert_eq!(path.find("git"), Some(tools.join("git")));
        assert_eq!(path.to_variable(), tools.as_os_str());
        assert_eq!(path.find("nothing"), None);
    }

    #[test]
    fn trust_2_6_a_home_folder_under_git_is_no_project() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(home.join(".git")).unwrap();
        let tools = home.join("bin");
        let path = SearchPath::new(tools.as_os_str());
        let place = home.join("src");
        assert_eq!(path.clone().outside_worktree_of(&place, Some(&home)), path);
        assert_eq!(path.outside_worktree_of(&place, None), SearchPath::default());
    }
}

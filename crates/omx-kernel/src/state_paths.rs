//! How documents name files in a project's state folder, and which files such a name means.
//!
//! The state folder is `.omx` or `.omc` in the project, or a folder outside it. Evidence
//! and context paths therefore come from this value, never from a dialect's folder name
//! alone: a document that names a file which does not exist fails its evidence rule.

use std::path::{Path, PathBuf};

use crate::dialect::Dialect;
use crate::ids::SessionId;

/// The project's root and its state folder, wherever that is.
///
/// A workflow calls [`StatePaths::journal`] for the evidence of a completion audit and
/// [`StatePaths::context`] for `context_snapshot_path`. The shell that looks up
/// [`FileFacts`](crate::evidence::FileFacts) calls [`StatePaths::candidates`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StatePaths {
    root: PathBuf,
    folder: PathBuf,
}

impl StatePaths {
    /// The paths of a project whose state folder is `folder`. Both are absolute.
    pub fn new(root: &Path, folder: &Path) -> Self {
        Self { root: root.to_owned(), folder: folder.to_owned() }
    }

    /// The paths of a project that keeps its state folder where the dialect puts it,
    /// seen from the project's root.
    pub fn in_project(dialect: Dialect) -> Self {
        Self { root: PathBuf::new(), folder: PathBuf::from(dialect.dir_name) }
    }

    /// The name of a run's journal.
    pub fn journal(&self, session: &SessionId) -> String {
        self.name(&format!("runs/{session}/journal.jsonl"))
    }

    /// The name of the file that keeps what a run knew when it started.
    pub fn context(&self, stem: &str) -> String {
        self.name(&format!("context/{stem}.md"))
    }

    /// The name of a file in the state folder: relative to the root if the folder is
    /// inside the project, absolute otherwise. `file` is relative to the folder.
    ///
    /// JSON cannot hold a folder whose path is not UTF-8. Such a file gets the default
    /// dialect's folder name, which [`StatePaths::candidates`] maps back to the folder.
    pub fn name(&self, file: &str) -> String {
        let folder = self.folder.strip_prefix(&self.root).unwrap_or(&self.folder);
        format!("{}/{file}", folder.to_str().unwrap_or(Dialect::OMX.dir_name))
    }

    /// The files that a path in a document can mean, in the order in which to look.
    ///
    /// A relative path starts at the root or at the caller's working directory. Where it
    /// starts with a dialect's folder name, it also means that file in the state folder:
    /// skills and earlier documents say `.omx/plans/…` whatever the project uses.
    pub fn candidates(&self, path: &str, working_directory: &Path) -> Vec<PathBuf> {
        if path.is_empty() {
            return Vec::new();
        }
        let mut files = vec![self.root.join(path), working_directory.join(path)];
        let below = Dialect::ALL
            .iter()
            .find_map(|dialect| path.strip_prefix(dialect.dir_name)?.strip_prefix('/'));
        files.extend(below.map(|below| self.folder.join(below.trim_start_matches('/'))));
        files.dedup();
        files
    }

    /// The folders that hold what belongs to the project: its root and its state folder.
    pub fn folders(&self) -> [&Path; 2] {
        [&self.root, &self.folder]
    }
}

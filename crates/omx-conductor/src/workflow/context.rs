//! What a workflow knows about its surroundings.

use std::path::Path;

use omx_kernel::{Dialect, SessionId, StatePaths};

/// Where a run belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowContext {
    /// The session of the run's documents.
    pub session: SessionId,
    /// The names of files and programs.
    pub dialect: Dialect,
    /// Names the files of the project's state folder, which documents give as evidence.
    pub paths: StatePaths,
}

impl WorkflowContext {
    /// The context of a run in a project.
    pub fn new(session: SessionId, dialect: Dialect, root: &Path, state_folder: &Path) -> Self {
        Self { session, dialect, paths: StatePaths::new(root, state_folder) }
    }

    /// The path of the run's journal.
    pub fn journal_path(&self) -> String {
        self.paths.journal(&self.session)
    }

    /// The path of a file in the folder of context snapshots.
    pub fn context_path(&self, name: &str) -> String {
        self.paths.context(name)
    }
}

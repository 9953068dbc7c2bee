//! The context of a workflow.

use std::path::Path;

use omx_kernel::{Dialect, SessionId, StatePaths};

/// The session, dialect and paths of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowContext {
    /// The session of the run's documents.
    pub session: SessionId,
    /// The names of files and programs.
    pub dialect: Dialect,
    /// Names files in the project's state folder, for use as evidence in documents.
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

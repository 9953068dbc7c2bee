//! What a workflow knows about its surroundings.

use std::path::Path;

use omx_kernel::{Dialect, SessionId};

/// Where a run belongs.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowContext {
    /// The session of the run's documents.
    pub session: SessionId,
    /// The names of files and programs.
    pub dialect: Dialect,
    /// The project's state folder: relative to the project's root if it lies
    /// inside, absolute if not. Documents name files with it as evidence.
    pub state_folder: String,
}

impl WorkflowContext {
    /// The context of a run in a project.
    pub fn new(session: SessionId, dialect: Dialect, root: &Path, state_folder: &Path) -> Self {
        let shown = state_folder.strip_prefix(root).unwrap_or(state_folder);
        Self { session, dialect, state_folder: shown.display().to_string() }
    }

    /// The path of the run's journal.
    pub fn journal_path(&self) -> String {
        format!("{}/runs/{}/journal.jsonl", self.state_folder, self.session)
    }

    /// The path of a file in the folder of context snapshots.
    pub fn context_path(&self, name: &str) -> String {
        format!("{}/context/{name}.md", self.state_folder)
    }
}

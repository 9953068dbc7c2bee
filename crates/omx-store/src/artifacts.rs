//! Files omx makes for people to read: plans, contexts, answers.

use std::path::PathBuf;

use crate::dir::open_or_make;
use crate::error::StoreError;
use crate::lock::LockedStore;
use crate::replace::{Durability, replace};

/// What kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactFolder {
    /// Answers of agents.
    Artifacts,
    /// Plans and test specifications.
    Plans,
    /// What a run knew when it began.
    Context,
}

impl ArtifactFolder {
    /// The folder's name in omx's folder.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::Plans => "plans",
            Self::Context => "context",
        }
    }
}

impl LockedStore {
    /// Puts a file there, whole or not at all, and tells where it is. `stem`
    /// and `ending` are words of ours; anything else in them becomes `-`.
    pub fn write_artifact(
        &self,
        folder: ArtifactFolder,
        stem: &str,
        ending: &str,
        text: &str,
    ) -> Result<PathBuf, StoreError> {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
        let name: String =
            stem.chars().map(safe).chain(['.']).chain(ending.chars().map(safe)).collect();
        let path = self.tree_path.join(folder.folder());
        let folder = open_or_make(&self.tree, folder.folder(), &path)?;
        let path = path.join(&name);
        replace(&folder, &name, &path, text.as_bytes(), Durability::Flushed)?;
        Ok(path)
    }
}

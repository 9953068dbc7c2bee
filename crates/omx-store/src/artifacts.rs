//! Files that omx writes for people to read: plans, contexts, answers.

use std::path::PathBuf;

use crate::dir::open_or_make;
use crate::error::StoreError;
use crate::lock::LockedStore;
use crate::replace::{Durability, replace};

/// A folder for files of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactFolder {
    /// Answers of agents.
    Artifacts,
    /// Plans and test specifications.
    Plans,
    /// What a run knew when it started.
    Context,
}

impl ArtifactFolder {
    /// The folder's name inside omx's folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Artifacts => "artifacts",
            Self::Plans => "plans",
            Self::Context => "context",
        }
    }
}

impl LockedStore {
    /// Writes a file as a whole and returns its path. Every character of `stem` and
    /// `extension` that is not an ASCII letter, a digit, `-` or `_` becomes `-`.
    pub fn write_artifact(
        &self,
        kind: ArtifactFolder,
        stem: &str,
        extension: &str,
        text: &str,
    ) -> Result<PathBuf, StoreError> {
        let safe = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
        let name: String =
            stem.chars().map(safe).chain(['.']).chain(extension.chars().map(safe)).collect();
        let path = self.tree_path.join(kind.name());
        let folder = open_or_make(&self.tree, kind.name(), &path)?;
        let path = path.join(&name);
        replace(&folder, &name, &path, text.as_bytes(), Durability::Flushed)?;
        Ok(path)
    }
}

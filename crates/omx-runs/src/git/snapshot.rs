//! What git would execute in a repository: settings, hooks and attributes. A run compares
//! it with the state at its start before it calls git where agents work.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use omx_kernel::git_settings::{RepositorySnapshot, concerns_execution};
use sha2::{Digest, Sha256};

use super::error::GitError;
use super::place::Checkout;

impl Checkout {
    /// Takes a snapshot.
    pub fn snapshot(&self) -> Result<RepositorySnapshot, GitError> {
        let mut settings: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in self.settings().own() {
            if concerns_execution(key) {
                settings.entry(key.clone()).or_default().push(value.clone());
            }
        }
        let folder = self.hooks_folder();
        // Hooks inside the working tree are part of the project, and agents may edit them.
        let hooks = if folder.starts_with(self.top()) && !folder.starts_with(self.common_dir()) {
            BTreeMap::new()
        } else {
            hash_files(&folder)?
        };
        Ok(RepositorySnapshot {
            settings,
            hooks,
            attributes: hash_file(&self.common_dir().join("info/attributes"))?,
        })
    }

    /// Refuses if anything changed since a snapshot.
    pub fn check_unchanged(&self, before: &RepositorySnapshot) -> Result<(), GitError> {
        let changes = self.snapshot()?.changes_since(before);
        if changes.is_empty() { Ok(()) } else { Err(GitError::RepositoryChanged { changes }) }
    }
}

fn hash_files(folder: &Path) -> Result<BTreeMap<String, String>, GitError> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // git ignores these; its templates have one for each hook.
        if name.ends_with(".sample") {
            continue;
        }
        if let Some(hash) = hash_file(&entry.path())? {
            found.insert(name, hash);
        }
    }
    Ok(found)
}

/// Hashes a regular file; `None` if there is none.
fn hash_file(path: &Path) -> Result<Option<String>, GitError> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(path).map_err(|error| GitError::io("read", path, error))?;
    let digest = Sha256::digest(&bytes);
    Ok(Some(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()))
}

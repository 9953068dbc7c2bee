//! Uncommitted changes of a checkout. Reading them writes nothing, not even the index.

use std::path::PathBuf;

use super::call::{parts, path};
use super::error::GitError;
use super::place::Checkout;

/// Uncommitted changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitStatus {
    /// Tracked files that changed, staged or not.
    pub changed: Vec<PathBuf>,
    /// Files with an unresolved conflict.
    pub unmerged: Vec<PathBuf>,
    /// Untracked files that are not ignored; a folder stands for everything in it.
    pub untracked: Vec<PathBuf>,
}

impl GitStatus {
    /// Whether everything is committed or ignored.
    pub fn is_clean(&self) -> bool {
        self.touched().is_empty() && self.untracked.is_empty()
    }

    /// Tracked files that differ from the last commit.
    pub fn touched(&self) -> Vec<PathBuf> {
        self.unmerged.iter().chain(&self.changed).cloned().collect()
    }
}

impl Checkout {
    /// Reads the uncommitted changes.
    pub fn status(&self) -> Result<GitStatus, GitError> {
        let call = self.call(&[
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
        ]);
        let mut status = GitStatus::default();
        for part in parts(&call.output()?) {
            // The number of fields before the path depends on the kind of line.
            let (list, fields) = match part.first() {
                Some(b'1') => (&mut status.changed, 8),
                Some(b'u') => (&mut status.unmerged, 10),
                Some(b'?') => (&mut status.untracked, 1),
                _ => continue,
            };
            if let Some(name) = part.splitn(fields + 1, |byte| *byte == b' ').nth(fields) {
                list.push(path(name));
            }
        }
        Ok(status)
    }
}

//! What in a checkout is not committed. Looking writes nothing, not even the
//! index.

use std::path::PathBuf;

use super::call::{parts, path};
use super::error::GitError;
use super::place::Checkout;

/// What is not committed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GitStatus {
    /// Files in git that are changed, staged or not.
    pub changed: Vec<PathBuf>,
    /// Files with a conflict that nobody resolved.
    pub unmerged: Vec<PathBuf>,
    /// Files that are not in git and not ignored; a folder stands for all in it.
    pub untracked: Vec<PathBuf>,
}

impl GitStatus {
    /// Whether everything is committed or ignored.
    pub fn is_clean(&self) -> bool {
        self.touched().is_empty() && self.untracked.is_empty()
    }

    /// Files in git that are not as they were committed.
    pub fn touched(&self) -> Vec<PathBuf> {
        self.unmerged.iter().chain(&self.changed).cloned().collect()
    }
}

impl Checkout {
    /// What is not committed.
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
            // Fields before the path, by the kind of the line.
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

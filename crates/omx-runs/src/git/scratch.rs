//! Temporary files for git, such as a second index or a trace. They live in a folder
//! of omx's own, never in the worktree, and are removed after use.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A unique path. Dropping this value removes the file.
#[derive(Debug)]
pub(super) struct ScratchFile(PathBuf);

impl ScratchFile {
    pub(super) fn new(folder: &Path, what: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(folder.join(format!("{what}-{}-{number}", std::process::id())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Leaves the file where it is.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for ScratchFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        // git writes an index through a lock file.
        let _ = fs::remove_file(self.0.with_added_extension("lock"));
    }
}

//! The hash of everything in a checkout that is not ignored, committed or not.
//! Two checkouts with the same hash have the same content, to the byte.
//!
//! The hash is computed with a temporary index outside the checkout, so that the
//! checkout's index, with whatever the person or the agent staged, does not change.

use std::fs::{self, File, FileTimes};

use super::error::GitError;
use super::names::TreeId;
use super::place::Checkout;
use super::scratch::ScratchFile;

impl Checkout {
    /// Returns the hash of the current content.
    pub fn tree(&self) -> Result<TreeId, GitError> {
        let index = self.copy_index()?;
        self.stage_all(Some(index.path()))
    }

    /// Copies the index. The copy saves hashing unchanged files, and lists files that
    /// are tracked although they are ignored.
    fn copy_index(&self) -> Result<ScratchFile, GitError> {
        let copy = ScratchFile::new(self.git.scratch(), "index");
        let index = self.git_dir().join("index");
        let copied = File::open(&index).and_then(|original| {
            let times = original.metadata()?.modified()?;
            fs::copy(&index, copy.path())?;
            // git detects a file that changed right after the index was written by
            // the index's modification time. A newer time would make such a file look
            // unchanged.
            let file = File::options().write(true).open(copy.path())?;
            file.set_times(FileTimes::new().set_modified(times))
        });
        match copied {
            Ok(()) => Ok(copy),
            // A repository without commits may have no index.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !index.exists() => {
                Ok(copy)
            }
            Err(error) => Err(GitError::io("copy", &index, error)),
        }
    }
}

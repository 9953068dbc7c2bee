//! The hash of everything in a checkout that is not ignored, committed or not.
//! Two checkouts with the same hash have the same content, to the byte.
//!
//! The hash is computed with a temporary index outside the checkout, so that the
//! checkout's index, with whatever the person or the agent staged, does not change.

use std::fs::{File, FileTimes};
use std::io;
use std::os::unix::fs::OpenOptionsExt;

use super::error::GitError;
use super::names::TreeId;
use super::place::Checkout;
use super::scratch::ScratchFile;

impl Checkout {
    /// Returns the hash of the current content.
    pub fn tree(&self) -> Result<TreeId, GitError> {
        let index = self.copy_index()?;
        Ok(self.stage_all(Some(index.path()))?.tree)
    }

    /// Copies the index. The copy saves hashing unchanged files, and lists files that
    /// are tracked although they are ignored.
    pub(super) fn copy_index(&self) -> Result<ScratchFile, GitError> {
        let copy = ScratchFile::new(self.git.scratch(), "index");
        let index = self.git_dir().join("index");
        let copied = File::open(&index).and_then(|mut original| {
            let times = original.metadata()?.modified()?;
            // Whatever has that name already, even a link, is not written to.
            let mut options = File::options();
            let mut file = options.write(true).create_new(true).mode(0o600).open(copy.path())?;
            io::copy(&mut original, &mut file)?;
            // git detects a file that changed right after the index was written by
            // the index's modification time. A newer time would make such a file look
            // unchanged.
            file.set_times(FileTimes::new().set_modified(times))
        });
        match copied {
            Ok(()) => Ok(copy),
            // A repository without commits may have no index.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !index.exists() => Ok(copy),
            Err(error) => Err(GitError::io("copy", &index, error)),
        }
    }
}

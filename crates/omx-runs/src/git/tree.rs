//! The hash of everything in a checkout that is not ignored, committed or not.
//! Two checkouts with the same hash have the same content, to the byte.
//!
//! It is taken with an index of its own, outside the checkout: the checkout's
//! index, and with it what the person or the agent staged, stays as it is.

use std::fs::{self, File, FileTimes};

use super::error::GitError;
use super::names::TreeId;
use super::place::Checkout;
use super::scratch::ScratchFile;

impl Checkout {
    /// The hash of what is there now.
    pub fn tree(&self) -> Result<TreeId, GitError> {
        let index = self.copy_index()?;
        let with_copy = |args: &[&str]| self.call(args).env("GIT_INDEX_FILE", index.path());
        with_copy(&["add", "--all"]).work().output()?;
        let hash = with_copy(&["write-tree"]).line()?;
        TreeId::new(&hash).map_err(|refusal| GitError::Failed {
            what: "write-tree".into(),
            words: refusal.to_string(),
        })
    }

    /// A copy saves hashing what did not change, and knows which ignored files
    /// are in git all the same.
    fn copy_index(&self) -> Result<ScratchFile, GitError> {
        let copy = ScratchFile::new(self.git.scratch(), "index");
        let index = self.git_dir().join("index");
        let copied = File::open(&index).and_then(|original| {
            let times = original.metadata()?.modified()?;
            fs::copy(&index, copy.path())?;
            // A file changed right after the index was written is told by that
            // very time; a younger index would take it for unchanged.
            let file = File::options().write(true).open(copy.path())?;
            file.set_times(FileTimes::new().set_modified(times))
        });
        match copied {
            Ok(()) => Ok(copy),
            // A repository without a commit may have none.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !index.exists() => {
                Ok(copy)
            }
            Err(error) => Err(GitError::io("copy", &index, error)),
        }
    }
}

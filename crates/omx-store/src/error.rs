//! What can go wrong with files, told so that a person can act on it.

use std::io;
use std::path::{Path, PathBuf};

use omx_kernel::{Refusal, RefusalCode};

/// A failure of the store. Unless it says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Somebody else holds the project's lock.
    #[error("the project's lock was not free within {waited} ms; it is held by {holder}")]
    Busy {
        /// How long was waited.
        waited: u128,
        /// What is known of the holder.
        holder: String,
    },
    /// Somebody else is changing the same file of the person's.
    #[error("{} is being changed by another process", path.display())]
    InUse {
        /// Which.
        path: PathBuf,
    },
    /// A link, folder, pipe or device where a file or folder of omx belongs.
    #[error("{} is {what}; nothing is read or written through it", path.display())]
    Unsafe {
        /// Where.
        path: PathBuf,
        /// What stands there.
        what: &'static str,
    },
    /// A document that is not one JSON object.
    #[error("{} cannot be read: {why}", path.display())]
    Corrupt {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A document over its limits.
    #[error(
        "{what}; a document has at most {} bytes and {} levels",
        crate::MAX_DOCUMENT_BYTES,
        crate::MAX_DEPTH
    )]
    TooLarge {
        /// What is too large.
        what: String,
    },
    /// A record longer than a line of a journal may be.
    #[error("a record of {bytes} bytes is too long for {}; it has at most {most}", path.display())]
    LongRecord {
        /// Which journal.
        path: PathBuf,
        /// How long it would be.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// A journal of which it is not known what of its last record reached the disk.
    #[error("{} failed before and takes nothing more; resume the run to go on", path.display())]
    JournalFailed {
        /// Which.
        path: PathBuf,
    },
    /// The file system said no before anything was changed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It is done, but whether it survives a power loss is not known.
    #[error("{}: {done}, flush failed: {source}", path.display())]
    Unflushed {
        /// What was done: written or removed.
        done: &'static str,
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The folder named as project is none.
    #[error("{} is not a directory", path.display())]
    NoProject {
        /// What was named.
        path: PathBuf,
    },
}

impl StoreError {
    pub(crate) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        Self::Io { doing, path: path.to_owned(), source: source.into() }
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Busy { .. } | StoreError::InUse { .. } => RefusalCode::Busy,
            StoreError::Unsafe { .. } => RefusalCode::UnsafePath,
            StoreError::Corrupt { .. } => RefusalCode::CorruptState,
            StoreError::TooLarge { .. } | StoreError::LongRecord { .. } => RefusalCode::TooLarge,
            StoreError::Io { .. }
            | StoreError::Unflushed { .. }
            | StoreError::JournalFailed { .. } => RefusalCode::Io,
            StoreError::NoProject { .. } => RefusalCode::InvalidInput,
        };
        Refusal::new(code, error.to_string())
    }
}

//! Failures of the store, worded so that a person can act on them.

use std::io;
use std::path::{Path, PathBuf};

use omx_kernel::{Refusal, RefusalCode};

/// A failure of the store. Unless the variant says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds the project's lock.
    #[error("the project's lock was not free within {waited} ms; it is held by {holder}")]
    Busy {
        /// How many milliseconds it was waited for.
        waited: u128,
        /// What is known about the holder.
        holder: String,
    },
    /// Another process is changing the same file of the person.
    #[error("{} is being changed by another process", path.display())]
    InUse {
        /// The path.
        path: PathBuf,
    },
    /// A link, folder, pipe or device in the place of a file or folder of omx.
    #[error("{} is {what}; nothing is read or written through it", path.display())]
    Unsafe {
        /// The path.
        path: PathBuf,
        /// What is there instead.
        what: &'static str,
    },
    /// A document that is not one JSON object.
    #[error("{} cannot be read: {why}", path.display())]
    Corrupt {
        /// The path.
        path: PathBuf,
        /// What is wrong.
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
    /// A record that is longer than a line of a journal may be.
    #[error("a record of {bytes} bytes is too long for {}; the limit is {most} bytes", path.display())]
    LongRecord {
        /// The journal.
        path: PathBuf,
        /// The length of the record.
        bytes: usize,
        /// The longest allowed length.
        most: usize,
    },
    /// It is unknown how much of the last record of this journal reached the disk.
    #[error("an earlier write to {} failed, so nothing more is appended; resume the run to continue", path.display())]
    JournalFailed {
        /// The path.
        path: PathBuf,
    },
    /// The file system refused before anything was changed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted operation.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The change was made, but may not survive a power loss.
    #[error("{}: {done}, flush failed: {source}", path.display())]
    Unflushed {
        /// The change: written or removed.
        done: &'static str,
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The path given as project is not a directory.
    #[error("{} is not a directory", path.display())]
    NoProject {
        /// The given path.
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

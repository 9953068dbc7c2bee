//! Replaces a file as a whole or not at all.
//!
//! The order matters and is visible in a system-call trace: write a temporary file beside
//! the old one, flush it, rename it over the old one, flush the folder. The temporary name
//! is fixed because all writers hold the project's lock: the next writer overwrites what a
//! killed one left behind.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::dir::FILE_MODE;
use crate::error::StoreError;
use crate::flush::{flush_all, flush_data};

/// Whether a replaced file must survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// It is flushed to the disk before the call returns.
    Flushed,
    /// It may be lost: omx can do without it.
    Relaxed,
}

/// Whether a name is that of a temporary file of this module.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Replaces (or creates) a file in an open folder.
pub(crate) fn replace(
    folder: impl AsFd,
    name: &str,
    path: &Path,
    bytes: &[u8],
    durability: Durability,
) -> Result<(), StoreError> {
    let folder = folder.as_fd();
    let temporary = format!(".{name}.tmp");
    let written = write_temporary(folder, &temporary, bytes, durability)
        .and_then(|()| Ok(renameat(folder, &temporary, folder, name)?));
    if let Err(error) = written {
        // If this fails too, the next writer overwrites the file.
        let _ = unlinkat(folder, &temporary, AtFlags::empty());
        return Err(StoreError::io("write", path, error));
    }
    if durability == Durability::Flushed {
        flush_all(folder).map_err(|error| StoreError::Unflushed {
            done: "written",
            path: path.to_owned(),
            source: error,
        })?;
    }
    Ok(())
}

fn write_temporary(
    folder: BorrowedFd<'_>,
    temporary: &str,
    bytes: &[u8],
    durability: Durability,
) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match openat(folder, temporary, flags, FILE_MODE) {
        Err(Errno::EXIST) => {
            unlinkat(folder, temporary, AtFlags::empty())?;
            openat(folder, temporary, flags, FILE_MODE)?
        }
        other => other?,
    };
    let mut file = File::from(fd);
    file.write_all(bytes)?;
    if durability == Durability::Flushed {
        flush_data(&file)?;
    }
    Ok(())
}

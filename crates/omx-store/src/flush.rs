//! Flushing files and folders to the disk: the only place that decides how.
//!
//! On macOS `fsync` does not reach the disk; a port uses `F_FULLFSYNC` here, and nothing
//! else changes.

use std::io;
use std::os::fd::AsFd;

use rustix::fs::{fdatasync, fsync};

/// Flushes the contents of a file, with as much of its metadata as reading them needs.
pub fn flush_data(file: impl AsFd) -> io::Result<()> {
    Ok(fdatasync(file)?)
}

/// Flushes a file with all of its metadata, or a folder with the names in it.
pub fn flush_all(file_or_folder: impl AsFd) -> io::Result<()> {
    Ok(fsync(file_or_folder)?)
}

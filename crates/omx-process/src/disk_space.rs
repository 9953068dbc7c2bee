//! How much room a disk has.

use std::io;
use std::path::Path;

use rustix::fs::statvfs;

/// The size of a file system and what is left of it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// What this user may still write.
    pub free: u64,
    /// Its size.
    pub total: u64,
}

/// The room on the file system of a folder.
pub fn disk_space(folder: &Path) -> io::Result<DiskSpace> {
    let stat = statvfs(folder)?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Ok(DiskSpace { free: bytes(stat.f_bavail), total: bytes(stat.f_blocks) })
}

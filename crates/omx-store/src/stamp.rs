//! Stamps of files: what tells an unchanged file from a changed one without reading it.
//!
//! Indexes rely on them. A stamp is only worth keeping once its file has been quiet for a
//! while: a second change within one tick of the clock could leave the same stamp.

use std::os::fd::AsFd;

use omx_kernel::Timestamp;
use rustix::fs::{AtFlags, Stat, statat};
use serde::{Deserialize, Serialize};

/// How long a file must have been quiet before its stamp is kept.
const QUIET_MILLIS: i64 = 2_000;

/// A file as it was: inode, size, and the time of its last change, which no program can set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp(u64, i64, i64);

impl FileStamp {
    /// The stamp of a file inside an open folder, which is not followed if it is a link.
    pub(crate) fn read(folder: impl AsFd, name: &str) -> Option<Self> {
        statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| Self::from_stat(&stat))
    }

    fn from_stat(stat: &Stat) -> Self {
        let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
        let changed = stat.st_ctime.saturating_mul(1_000_000_000).saturating_add(nanos);
        Self(stat.st_ino, stat.st_size, changed)
    }

    /// When the file last changed.
    pub fn changed_at(self) -> Timestamp {
        Timestamp::from_millis(self.2 / 1_000_000)
    }

    /// Whether the stamp is worth keeping.
    pub fn is_quiet(self, now: Timestamp) -> bool {
        now.millis() - self.changed_at().millis() > QUIET_MILLIS
    }
}

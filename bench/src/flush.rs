//! The least work a durable write can be: temporary file, flush, rename, flush
//! of the directory. Shared by the `floor` program (with a process start around
//! it) and the driver (in a loop), so both floors mean the same thing.

use crate::error::{BenchResult, WithContext};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// About the size of a real mode document.
pub const PAYLOAD: &[u8] = br#"{"mode":"ralph","active":true,"current_phase":"executing","iteration":1,"max_iterations":50,"run_outcome":"continue","task_description":"measure","started_at":"2026-11-15T09:00:00Z","updated_at":"2026-11-15T09:00:00Z","n":123456,"revision":123456}
"#;

/// A directory held open, and the two names used in it.
pub struct FlushFloor {
    directory: File,
    temporary: PathBuf,
    target: PathBuf,
}

impl FlushFloor {
    /// Opens `directory`, which must exist.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(directory: &Path) -> BenchResult<Self> {
        Ok(Self {
            directory: File::open(directory).context(|| format!("open {}", directory.display()))?,
            temporary: directory.join(".floor.tmp"),
            target: directory.join("floor.json"),
        })
    }

    /// Replaces the document once, durably.
    ///
    /// # Errors
    /// When any of the steps fails.
    pub fn replace(&self) -> BenchResult<()> {
        let mut file =
            File::create(&self.temporary).context(|| "create the floor's temporary file")?;
        file.write_all(PAYLOAD).context(|| "write the floor's file")?;
        file.sync_data().context(|| "flush the floor's file")?;
        std::fs::rename(&self.temporary, &self.target).context(|| "rename the floor's file")?;
        self.directory.sync_all().context(|| "flush the floor's directory")
    }
}

//! Cleans up after runs that ended long ago: removes their documents and records the
//! time of the last cleanup.

use omx_kernel::{SessionId, Timestamp};
use rustix::fs::{AtFlags, unlinkat};

use super::folder::RUNS;
use crate::dir::remove_contents;
use crate::dir::{self, open, open_or_make};
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::lock::LockedStore;
use crate::replace::{Durability, replace};
use crate::tree::{Store, session_path};

/// Holds the time of the last cleanup.
const CLEANUP_FILE: &str = ".swept";
const MAX_BYTES: usize = 100;

impl Store {
    /// When old runs were last cleaned up; `None` if never or unknown.
    pub fn last_run_cleanup(&self) -> Result<Option<Timestamp>, StoreError> {
        let Some((runs, path)) = self.open_runs()? else { return Ok(None) };
        let read = dir::read(&runs, CLEANUP_FILE, &path.join(CLEANUP_FILE), MAX_BYTES)?;
        Ok(read.and_then(|read| Timestamp::parse(std::str::from_utf8(&read.bytes).ok()?.trim())))
    }
}

impl LockedStore {
    /// Records that a cleanup of old runs starts now.
    pub fn record_run_cleanup(&self, now: Timestamp) -> Result<(), StoreError> {
        let path = self.tree_path.join(RUNS);
        let runs = open_or_make(&self.tree, RUNS, &path)?;
        let text = format!("{now}\n");
        replace(
            &runs,
            CLEANUP_FILE,
            &path.join(CLEANUP_FILE),
            text.as_bytes(),
            Durability::Flushed,
        )?;
        Ok(())
    }

    /// Removes everything of a session, which must belong to one run only.
    pub fn remove_session(&self, session: &SessionId) -> Result<(), StoreError> {
        let path = self.state.path().join("sessions");
        let Some(sessions) = open(&self.state.fd, "sessions", &path)? else { return Ok(()) };
        let path = session_path(self.state.path(), session);
        let Some(folder) = open(&sessions, session.as_str(), &path)? else { return Ok(()) };
        remove_contents(&folder, &path)?;
        unlinkat(&sessions, session.as_str(), AtFlags::REMOVEDIR)
            .map_err(|error| StoreError::io("remove", &path, error))?;
        flush_all(&sessions).map_err(|error| StoreError::io("flush", &path, error))
    }
}

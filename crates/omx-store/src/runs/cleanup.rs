//! Cleans up after runs that ended long ago: removes their documents and records the
//! time of the last cleanup.

use omx_kernel::{Scope, SessionId, Timestamp};
use rustix::fs::{AtFlags, unlinkat};

use super::folder::RUNS;
use crate::artifacts::ArtifactFolder;
use crate::dir::{self, open, open_or_make};
use crate::documents::session_names;
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::lock::LockedStore;
use crate::remove_tree::remove_contents;
use crate::replace::{Durability, replace};
use crate::scope_contents::read_folder;
use crate::stamp::FileStamp;
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
        self.remove_sessions(std::slice::from_ref(session))
    }

    /// The same for several sessions.
    pub fn remove_sessions(&self, ids: &[SessionId]) -> Result<(), StoreError> {
        let sessions_path = self.state.path().join("sessions");
        let Some(sessions) = open(&self.state.fd, "sessions", &sessions_path)? else {
            return Ok(());
        };
        for session in ids {
            let path = session_path(self.state.path(), session);
            let Some(folder) = open(&sessions, session.as_str(), &path)? else { continue };
            remove_contents(&folder, &path)?;
            unlinkat(&sessions, session.as_str(), AtFlags::REMOVEDIR)
                .map_err(|error| StoreError::io("remove", &path, error))?;
        }
        flush_all(&sessions).map_err(|error| StoreError::io("flush", &sessions_path, error))
    }

    /// Removes the documents of conversations that ended before this time, and their
    /// folders. Returns how many. What is active, unreadable, or belongs to a run stays.
    pub fn remove_ended_sessions(&self, before: Timestamp) -> Result<usize, StoreError> {
        let path = self.state.path().join("sessions");
        let Some(sessions) = open(&self.state.fd, "sessions", &path)? else { return Ok(0) };
        let runs = open(&self.tree, RUNS, &self.tree_path.join(RUNS))?;
        let mut removed = 0;
        for session in session_names(&sessions, &path)? {
            let path = path.join(session.as_str());
            let is_old = |stamp: FileStamp| stamp.changed_at() < before;
            let is_run = || {
                let name = session.as_str();
                runs.as_ref().is_some_and(|runs| FileStamp::read(runs, name).is_some())
            };
            if !FileStamp::read(&sessions, session.as_str()).is_some_and(is_old) || is_run() {
                continue;
            }
            let Ok(Some(folder)) = open(&sessions, session.as_str(), &path) else { continue };
            let scope = Scope::Session(session.clone());
            let Ok(read) = read_folder(&folder, &scope, &path) else { continue };
            let names: Vec<String> =
                read.snapshot.documents.keys().map(|mode| mode.file_name()).collect();
            let is_quiet = |name: &String| FileStamp::read(&folder, name).is_some_and(is_old);
            let is_active = read.snapshot.active_modes().next().is_some();
            if is_active || !read.unreadable.is_empty() || !names.iter().all(is_quiet) {
                continue;
            }
            for name in names.iter().chain(&read.leftovers) {
                let _ = unlinkat(&folder, name.as_str(), AtFlags::empty());
            }
            // Fails, as it should, for a folder with files of others.
            let is_gone = unlinkat(&sessions, session.as_str(), AtFlags::REMOVEDIR).is_ok();
            removed += usize::from(is_gone);
        }
        if removed > 0 {
            flush_all(&sessions).map_err(|error| StoreError::io("flush", &path, error))?;
        }
        Ok(removed)
    }

    /// Removes the files of one kind that were written before this time.
    pub fn remove_old_artifacts(
        &self,
        kind: ArtifactFolder,
        before: Timestamp,
    ) -> Result<(), StoreError> {
        let path = self.tree_path.join(kind.name());
        let Some(folder) = open(&self.tree, kind.name(), &path)? else { return Ok(()) };
        for name in dir::names(&folder, &path)? {
            let stamp = FileStamp::read(&folder, &name);
            if stamp.is_some_and(|stamp| stamp.changed_at() < before) {
                let _ = unlinkat(&folder, name.as_str(), AtFlags::empty());
            }
        }
        Ok(())
    }
}

//! The index of runs: what lists show about runs that have ended, so that listing them
//! costs one look at each journal. It is a hint. Every entry carries the stamps of the
//! files it was made from and counts only while they match; a missing or broken index is
//! made anew.

use std::os::fd::OwnedFd;

use omx_kernel::RunId;

use super::folder::{RUNS, SPEC_FILE};
use super::journal::JOURNAL_FILE;
use crate::dir::{self, open};
use crate::error::StoreError;
use crate::lock::LockedStore;
use crate::replace::{Durability, replace};
use crate::stamp::FileStamp;
use crate::tree::Store;

const MAX_INDEX_BYTES: usize = 256 * 1024 * 1024;

/// An index of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunIndexFile {
    /// Everything that a list can show.
    Full,
    /// What a line shows.
    Summary,
}

impl RunIndexFile {
    const fn name(self) -> &'static str {
        match self {
            Self::Full => ".index-full.jsonl",
            Self::Summary => ".index.jsonl",
        }
    }
}

/// The folders that stamps are read from.
#[derive(Debug)]
pub struct RunStamps {
    runs: OwnedFd,
    sessions: Option<OwnedFd>,
}

impl RunStamps {
    /// The stamp of a run's journal; `None` if it has none.
    pub fn journal(&self, id: &RunId) -> Option<FileStamp> {
        FileStamp::read(&self.runs, &format!("{id}/{JOURNAL_FILE}"))
    }

    /// The stamp of what a run was asked to do.
    pub fn spec(&self, id: &RunId) -> Option<FileStamp> {
        FileStamp::read(&self.runs, &format!("{id}/{SPEC_FILE}"))
    }

    /// The stamp of a document in a run's session.
    pub fn document(&self, id: &RunId, name: &str) -> Option<FileStamp> {
        FileStamp::read(self.sessions.as_ref()?, &format!("{id}/{name}"))
    }
}

impl Store {
    /// The ids of everything that has the name of a run, oldest first.
    pub fn run_ids(&self) -> Result<Vec<RunId>, StoreError> {
        let Some((folder, path)) = self.open_runs()? else { return Ok(Vec::new()) };
        let mut ids = dir::names_as(&folder, &path, |name| RunId::new(name).ok())?;
        ids.sort();
        Ok(ids)
    }

    /// The ids of the runs that have a worktree.
    pub fn run_worktrees(&self) -> Result<Vec<RunId>, StoreError> {
        let path = self.tree().join("worktrees");
        let Some(tree) = self.open_tree()? else { return Ok(Vec::new()) };
        let Some(folder) = open(&tree, "worktrees", &path)? else { return Ok(Vec::new()) };
        let path = path.join("run");
        let Some(folder) = open(&folder, "run", &path)? else { return Ok(Vec::new()) };
        dir::names_as(&folder, &path, |name| RunId::new(name).ok())
    }

    /// Opens what stamps are read from. `None` if there are no runs.
    pub fn run_stamps(&self) -> Result<Option<RunStamps>, StoreError> {
        let Some((runs, _)) = self.open_runs()? else { return Ok(None) };
        // Without documents, runs can still be listed.
        let state = self.read().ok().flatten();
        let sessions = state.and_then(|state| {
            open(&state.fd, "sessions", &state.path().join("sessions")).ok().flatten()
        });
        Ok(Some(RunStamps { runs, sessions }))
    }

    /// The text of the index; empty if there is none that can be read.
    pub fn read_run_index(&self, file: RunIndexFile) -> String {
        let read = || {
            let (runs, path) = self.open_runs().ok()??;
            dir::read(&runs, file.name(), &path.join(file.name()), MAX_INDEX_BYTES).ok()?
        };
        read().and_then(|file| String::from_utf8(file.bytes).ok()).unwrap_or_default()
    }
}

impl LockedStore {
    /// Replaces the index. It may be lost.
    pub fn write_run_index(&self, file: RunIndexFile, text: &str) -> Result<(), StoreError> {
        let path = self.tree_path.join(RUNS);
        let Some(runs) = open(&self.tree, RUNS, &path)? else { return Ok(()) };
        replace(&runs, file.name(), &path.join(file.name()), text.as_bytes(), Durability::Relaxed)
    }
}

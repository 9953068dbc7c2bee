//! Lists the runs of a project and removes those that have ended.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use omx_kernel::RunId;
use rustix::fs::{AtFlags, renameat, unlinkat};

use super::folder::RUNS;
use super::holder::LockHolder;
use super::lock::{LOCK_FILE, Liveness, LockAttempt, acquire};
use crate::dir::{self, open};
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::lock::LockedStore;
use crate::remove_tree::remove_contents;
use crate::tree::Store;

/// The prefix of the folder of a run that is being created.
pub(super) const UNFINISHED: &str = ".new-";
/// The prefix of the folder of a run that is being removed.
const REMOVED: &str = ".removed-";

/// A run in the list of a project's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedRun {
    /// Its id.
    pub id: RunId,
    /// The path of its folder.
    pub path: PathBuf,
    /// Whether a process drives it.
    pub liveness: Liveness,
}

/// The outcome of removing a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRemoval {
    /// The run is gone.
    Removed,
    /// The run is alive and stays.
    Alive(Option<LockHolder>),
    /// There is no such run.
    Missing,
}

impl Store {
    /// All runs of the project, oldest first. Entries that are not the folder of a run are skipped.
    pub fn runs(&self) -> Result<Vec<ListedRun>, StoreError> {
        let Some((folder, path)) = self.open_runs()? else { return Ok(Vec::new()) };
        let names = dir::names(&folder, &path)?;
        let mut runs: Vec<ListedRun> = names
            .iter()
            .filter_map(|name| {
                let run = self.run(&RunId::new(name).ok()?).ok()??;
                let liveness = run.liveness().ok()?;
                Some(ListedRun { id: run.id().clone(), path: run.path().to_owned(), liveness })
            })
            .collect();
        runs.sort_by(|one, other| one.id.cmp(&other.id));
        Ok(runs)
    }
}

impl LockedStore {
    /// Removes the folder of a run that has ended, with everything in it.
    pub fn remove_run(&self, id: &RunId) -> Result<RunRemoval, StoreError> {
        let runs_path = self.tree_path.join(RUNS);
        let Some(runs) = open(&self.tree, RUNS, &runs_path)? else {
            return Ok(RunRemoval::Missing);
        };
        let path = runs_path.join(id.as_str());
        let Some(folder) = open(&runs, id.as_str(), &path)? else { return Ok(RunRemoval::Missing) };
        // Hold the lock until everything is removed, so that no process can resume the run.
        let _lock = match acquire(&folder, &path.join(LOCK_FILE), &LockHolder::this_process())? {
            LockAttempt::Acquired(lock) => lock,
            LockAttempt::HeldBy(holder) => return Ok(RunRemoval::Alive(holder)),
            LockAttempt::Gone => return Ok(RunRemoval::Missing),
        };
        // The rename removes the run from the list at once. The next call removes
        // what a crash leaves.
        renameat(&runs, id.as_str(), &runs, format!("{REMOVED}{id}"))
            .map_err(|error| StoreError::io("remove", &path, error))?;
        clear_leftovers(&runs, &runs_path)?;
        Ok(RunRemoval::Removed)
    }
}

impl LockedStore {
    /// Removes the folders of runs that have ended. Returns those that are gone; a run
    /// that is alive or cannot be removed stays and keeps no other.
    pub fn remove_runs(&self, ids: &[RunId]) -> Result<Vec<RunId>, StoreError> {
        let runs_path = self.tree_path.join(RUNS);
        let Some(runs) = open(&self.tree, RUNS, &runs_path)? else { return Ok(Vec::new()) };
        let mut removed = Vec::new();
        // The locks are held until everything is removed.
        let mut locks = Vec::new();
        for id in ids {
            let path = runs_path.join(id.as_str());
            let Ok(Some(folder)) = open(&runs, id.as_str(), &path) else { continue };
            let lock = acquire(&folder, &path.join(LOCK_FILE), &LockHolder::this_process());
            let Ok(LockAttempt::Acquired(lock)) = lock else { continue };
            if renameat(&runs, id.as_str(), &runs, format!("{REMOVED}{id}")).is_ok() {
                removed.push(id.clone());
                locks.push(lock);
            }
        }
        clear_leftovers(&runs, &runs_path)?;
        Ok(removed)
    }
}

/// Removes the leftovers of killed creations and removals. Call this only under the project's lock.
pub(super) fn clear_leftovers(runs: &OwnedFd, runs_path: &Path) -> Result<(), StoreError> {
    let mut cleared = false;
    for name in dir::names(runs, runs_path)? {
        let id = name.strip_prefix(UNFINISHED).or_else(|| name.strip_prefix(REMOVED));
        if id.is_none_or(|id| RunId::new(id).is_err()) {
            continue;
        }
        let path = runs_path.join(&name);
        let Ok(Some(folder)) = open(runs, name.as_str(), &path) else { continue };
        remove_contents(&folder, &path)?;
        unlinkat(runs, name.as_str(), AtFlags::REMOVEDIR)
            .map_err(|error| StoreError::io("remove", &path, error))?;
        cleared = true;
    }
    if cleared {
        flush_all(runs).map_err(|error| StoreError::io("flush", runs_path, error))?;
    }
    Ok(())
}

//! A run's folder, `runs/<id>`: the spec (`run.json`), the journal, the lock, and the
//! logs of its steps. It is created under another name and renamed once it is
//! complete, so it appears as a whole or not at all.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use omx_kernel::RunId;
use rustix::fs::{AtFlags, fstat, mkdirat, renameat, statat, unlinkat};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::entries::{JournalEntry, JournalReader};
use super::holder::LockHolder;
use super::journal::{self, JOURNAL_FILE, Journal};
use super::list::{UNFINISHED, clear_leftovers};
use super::lock::{
    LOCK_FILE, Liveness, LockAttempt, LockOwner, LockState, RunLock, acquire, find_owner, probe,
};
use super::step_log::{StepLog, StepLogName, open_step_log};
use crate::ContentHash;
use crate::dir::{self, FOLDER_MODE, open, open_or_make};
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::lock::{LockedStore, ignore_in_git};
use crate::remove_tree::remove_contents;
use crate::replace::{Durability, replace};
use crate::tree::Store;

pub(crate) const RUNS: &str = "runs";
pub(super) const SPEC_FILE: &str = "run.json";
const MAX_SPEC_BYTES: usize = 8 * 1024 * 1024;

/// A run's folder, open for reading.
#[derive(Debug)]
pub struct RunFolder {
    id: RunId,
    fd: OwnedFd,
    path: PathBuf,
}

/// A run whose lock this process holds. Only this process may write the journal.
#[derive(Debug)]
pub struct HeldRun {
    folder: RunFolder,
    journal: Journal,
    _lock: RunLock,
}

/// The outcome of acquiring a run.
#[derive(Debug)]
pub enum RunAcquisition {
    /// This process holds the run now.
    Acquired(HeldRun),
    /// Another process drives the run; which one, if that is known.
    HeldBy(Option<LockHolder>),
    /// There is no such run.
    Missing,
}

impl LockedStore {
    /// Creates a run and takes its lock. The spec is written once and never changed.
    pub fn create_run<A: Serialize>(
        &self,
        id: &RunId,
        spec: &A,
        holder: &LockHolder,
    ) -> Result<HeldRun, StoreError> {
        let runs_path = self.tree_path.join(RUNS);
        let runs = open_or_make(&self.tree, RUNS, &runs_path)?;
        ignore_in_git(&runs, &runs_path)?;
        // Runs are created under the project's lock, so any unfinished one is a leftover.
        clear_leftovers(&runs, &runs_path)?;
        let path = runs_path.join(id.as_str());
        let unfinished = format!("{UNFINISHED}{id}");
        let fail = |error| StoreError::io("make the folder", &path, error);
        mkdirat(&runs, &unfinished, FOLDER_MODE).map_err(fail)?;
        let made = fill(&runs, &unfinished, id, &path, spec, holder).and_then(|held| {
            renameat(&runs, &unfinished, &runs, id.as_str()).map_err(fail)?;
            Ok(held)
        });
        let held = match made {
            Ok(held) => held,
            Err(error) => {
                // If this fails too, the next creation of a run removes it.
                if let Ok(Some(folder)) = open(&runs, &unfinished, &path) {
                    let _ = remove_contents(&folder, &path);
                    let _ = unlinkat(&runs, unfinished.as_str(), AtFlags::REMOVEDIR);
                }
                return Err(error);
            }
        };
        flush_all(&runs).map_err(|error| StoreError::Unflushed {
            done: "written",
            path,
            source: error,
        })?;
        Ok(held)
    }

    /// Creates the folder for the worktrees of runs and returns its path. git ignores
    /// it regardless of the project's own rules.
    pub fn make_run_worktrees(&self) -> Result<PathBuf, StoreError> {
        let path = self.tree_path.join("worktrees");
        let folder = open_or_make(&self.tree, "worktrees", &path)?;
        ignore_in_git(&folder, &path)?;
        let path = path.join("run");
        open_or_make(&folder, "run", &path)?;
        Ok(path)
    }
}

fn fill<A: Serialize>(
    runs: &OwnedFd,
    unfinished: &str,
    id: &RunId,
    path: &Path,
    spec: &A,
    holder: &LockHolder,
) -> Result<HeldRun, StoreError> {
    let missing = || StoreError::io("open", path, std::io::ErrorKind::NotFound);
    let fd = open(runs, unfinished, path)?.ok_or_else(missing)?;
    let LockAttempt::Acquired(lock) = acquire(&fd, &path.join(LOCK_FILE), holder)? else {
        return Err(missing());
    };
    let spec_path = path.join(SPEC_FILE);
    let mut text = serde_json::to_vec_pretty(spec)
        .map_err(|error| StoreError::io("write", &spec_path, error))?;
    text.push(b'\n');
    replace(&fd, SPEC_FILE, &spec_path, &text, Durability::Flushed)?;
    open_or_make(&fd, "output", &path.join("output"))?;
    let journal = Journal::open(&fd, path.join(JOURNAL_FILE))?;
    let folder = RunFolder { id: id.clone(), fd, path: path.to_owned() };
    Ok(HeldRun { folder, journal, _lock: lock })
}

impl Store {
    /// The path of a run's worktree, which need not exist.
    pub fn run_worktree(&self, id: &RunId) -> PathBuf {
        self.tree().join("worktrees").join("run").join(id.as_str())
    }

    /// Whether the folder for the worktrees of runs exists. Whatever else has its name is
    /// refused, as when it is made.
    pub fn has_run_worktrees(&self) -> Result<bool, StoreError> {
        let Some(tree) = self.open_tree()? else { return Ok(false) };
        let path = self.tree().join("worktrees");
        let Some(folder) = open(&tree, "worktrees", &path)? else { return Ok(false) };
        let is_ignored = statat(&folder, ".gitignore", AtFlags::SYMLINK_NOFOLLOW).is_ok();
        Ok(is_ignored && open(&folder, "run", &path.join("run"))?.is_some())
    }

    /// Opens a run for reading, alive or not. `None` if there is no such run.
    pub fn run(&self, id: &RunId) -> Result<Option<RunFolder>, StoreError> {
        let Some((runs, path)) = self.open_runs()? else { return Ok(None) };
        let path = path.join(id.as_str());
        Ok(open(&runs, id.as_str(), &path)?.map(|fd| RunFolder { id: id.clone(), fd, path }))
    }

    /// Acquires a run that no process drives, in order to resume it.
    pub fn acquire_run(
        &self,
        id: &RunId,
        holder: &LockHolder,
    ) -> Result<RunAcquisition, StoreError> {
        let Some(folder) = self.run(id)? else { return Ok(RunAcquisition::Missing) };
        let lock = match acquire(&folder.fd, &folder.path.join(LOCK_FILE), holder)? {
            LockAttempt::Acquired(lock) => lock,
            LockAttempt::HeldBy(holder) => return Ok(RunAcquisition::HeldBy(holder)),
            LockAttempt::Gone => return Ok(RunAcquisition::Missing),
        };
        // The folder may have been moved away for removal before it was locked.
        if !self.run(id)?.is_some_and(|there| same_folder(&there.fd, &folder.fd)) {
            return Ok(RunAcquisition::Missing);
        }
        let journal = Journal::open(&folder.fd, folder.path.join(JOURNAL_FILE))?;
        Ok(RunAcquisition::Acquired(HeldRun { folder, journal, _lock: lock }))
    }

    pub(super) fn open_runs(&self) -> Result<Option<(OwnedFd, PathBuf)>, StoreError> {
        let Some(tree) = self.open_tree()? else { return Ok(None) };
        let path = self.tree().join(RUNS);
        Ok(open(&tree, RUNS, &path)?.map(|fd| (fd, path)))
    }
}

fn same_folder(one: &OwnedFd, other: &OwnedFd) -> bool {
    match (fstat(one), fstat(other)) {
        (Ok(one), Ok(other)) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
        _ => false,
    }
}

impl RunFolder {
    /// The id of the run.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Reads what the run was asked to do.
    pub fn read_spec<A: DeserializeOwned>(&self) -> Result<A, StoreError> {
        let path = self.path.join(SPEC_FILE);
        let read = dir::read(&self.fd, SPEC_FILE, &path, MAX_SPEC_BYTES)?
            .ok_or_else(|| StoreError::io("open", &path, std::io::ErrorKind::NotFound))?;
        serde_json::from_slice(&read.bytes)
            .map_err(|error| StoreError::Corrupt { path, why: error.to_string() })
    }

    /// The hash of what the run was asked to do, with these changes since.
    pub(crate) fn spec_hash(&self, changes: &[String]) -> Result<ContentHash, StoreError> {
        let path = self.path.join(SPEC_FILE);
        let read = dir::read(&self.fd, SPEC_FILE, &path, MAX_SPEC_BYTES)?
            .ok_or_else(|| StoreError::io("open", &path, std::io::ErrorKind::NotFound))?;
        let mut content = read.bytes;
        for change in changes {
            content.push(b'\n');
            content.extend_from_slice(change.as_bytes());
        }
        Ok(ContentHash::from_content(&content))
    }

    /// Reads another document of the run; `None` if it has none with this name.
    pub fn read_part<A: DeserializeOwned>(&self, name: &str) -> Result<Option<A>, StoreError> {
        let path = self.path.join(name);
        let Some(read) = dir::read(&self.fd, name, &path, MAX_SPEC_BYTES)? else {
            return Ok(None);
        };
        serde_json::from_slice(&read.bytes)
            .map(Some)
            .map_err(|error| StoreError::Corrupt { path, why: error.to_string() })
    }

    /// Whether a process drives it.
    pub fn liveness(&self) -> Result<Liveness, StoreError> {
        Ok(match self.lock_state()? {
            LockState::Held(holder) => Liveness::Alive(holder),
            LockState::Free(_) | LockState::Gone => Liveness::Ended,
        })
    }

    /// Who holds its lock; `None` if nobody does.
    pub fn lock_owner(&self) -> Result<Option<LockOwner>, StoreError> {
        find_owner(&self.fd, &self.path.join(LOCK_FILE))
    }

    /// Whether a process drives it, and not only holds its lock.
    pub fn is_driven(&self) -> Result<bool, StoreError> {
        let owner = self.lock_owner()?;
        Ok(matches!(owner, Some(LockOwner::Driver { .. } | LockOwner::Unknown)))
    }

    pub(super) fn lock_state(&self) -> Result<LockState, StoreError> {
        probe(&self.fd, &self.path.join(LOCK_FILE))
    }

    /// The journal, for reading while another process may write it.
    pub fn journal(&self) -> Result<JournalReader, StoreError> {
        journal::reader(&self.fd, self.path.join(JOURNAL_FILE))
    }

    /// Opens the log of a step, and empties it.
    pub fn open_step_log(&self, name: &StepLogName) -> Result<StepLog, StoreError> {
        open_step_log(&self.fd, &self.path, name)
    }

    /// Whether this is the same folder.
    pub(super) fn is_folder(&self, other: &OwnedFd) -> bool {
        same_folder(&self.fd, other)
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    /// A folder for temporary files of this run.
    pub fn scratch(&self) -> Result<PathBuf, StoreError> {
        let path = self.path.join("scratch");
        open_or_make(&self.fd, "scratch", &path)?;
        Ok(path)
    }
}

impl HeldRun {
    /// Its folder.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    /// The id of the run.
    pub fn id(&self) -> &RunId {
        &self.folder.id
    }

    /// Writes another document of the run, replacing one with the same name.
    pub fn write_part<A: Serialize>(&self, name: &str, part: &A) -> Result<(), StoreError> {
        let path = self.folder.path.join(name);
        let mut text = serde_json::to_vec_pretty(part)
            .map_err(|error| StoreError::io("write", &path, error))?;
        text.push(b'\n');
        replace(&self.folder.fd, name, &path, &text, Durability::Flushed)
    }

    /// The journal, for writing.
    pub fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// All records so far.
    pub fn entries<R: DeserializeOwned>(&self) -> Result<Vec<JournalEntry<R>>, StoreError> {
        self.folder.journal()?.read_all()
    }
}

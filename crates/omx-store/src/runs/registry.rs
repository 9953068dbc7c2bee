//! The live runs of all the person's projects: one small file each, in a folder
//! outside every project. A file says where a run is; only the run's lock says
//! whether it is alive. A file left by a killed run is therefore harmless, and the
//! next reader removes it.

use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use omx_kernel::{ForeignText, RunId, Timestamp};
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::folder::{HeldRun, RunFolder};
use super::holder::LockHolder;
use super::lock::{LockState, SharedRunLock};
use crate::ContentHash;
use crate::any_path;
use crate::dir;
use crate::error::StoreError;
use crate::project::Project;
use crate::replace::{Durability, replace};
use crate::tree::{Store, open_plain};

const MAX_ENTRY_BYTES: usize = 64 * 1024;
/// How much of a task to keep.
const MAX_TASK_CHARS: usize = 1000;

/// An entry of the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredRun {
    /// The id of the run.
    pub run: RunId,
    /// The project's root.
    #[serde(with = "any_path")]
    pub root: PathBuf,
    /// omx's folder for that project.
    #[serde(with = "any_path")]
    pub tree: PathBuf,
    /// The mode's name.
    pub mode: ForeignText,
    /// What the run was asked to do, shortened if necessary.
    pub task: ForeignText,
    /// The process that drives it.
    pub pid: u32,
    /// When the process started to drive it.
    pub started: Timestamp,
    /// The same process, told apart from a later one with its pid. Entries of earlier
    /// versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<LockHolder>,
}

/// The record of a run that is the person's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OwnedRun {
    run: RunId,
    spec: ContentHash,
    at: Timestamp,
}

/// The folder of such records, inside the registry's.
const OWNED: &str = "owned";

/// The folder of live runs.
#[derive(Clone, Debug)]
pub struct RunRegistry {
    folder: PathBuf,
}

impl RunRegistry {
    /// The registry in this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Adds a run. Only its holder can do so, so the entry is accurate and has one writer.
    pub fn add(&self, held: &HeldRun, entry: &RegisteredRun) -> Result<(), StoreError> {
        let fail = |error| StoreError::io("make the folder", &self.folder, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(fail)?;
        let folder =
            open_plain(&self.folder)?.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
        let name = file_name(held.id());
        let path = self.folder.join(&name);
        let task = entry.task.raw().chars().take(MAX_TASK_CHARS).collect::<String>().into();
        let entry = RegisteredRun { run: held.id().clone(), task, ..entry.clone() };
        let text =
            serde_json::to_vec(&entry).map_err(|error| StoreError::io("write", &path, error))?;
        replace(&folder, &name, &path, &text, Durability::Relaxed)
    }

    /// Removes a run, before its lock is released.
    pub fn remove(&self, held: &HeldRun) -> Result<(), StoreError> {
        let Some(folder) = open_plain(&self.folder)? else { return Ok(()) };
        remove_entry(&folder, &file_name(held.id()), &self.folder)
    }

    /// Returns the live runs, oldest first. Removes all other entries.
    pub fn live(&self) -> Result<Vec<RegisteredRun>, StoreError> {
        let Some(folder) = open_plain(&self.folder)? else { return Ok(Vec::new()) };
        let mut live = Vec::new();
        for name in dir::names(&folder, &self.folder)? {
            let Some(entry) = self.read(&folder, &name) else { continue };
            match entry.locate() {
                RunPresence::Alive => live.push(entry),
                RunPresence::Ended(_free) => remove_entry(&folder, &name, &self.folder)?,
                RunPresence::Unknown => {}
            }
        }
        live.sort_by(|one, other| (one.started, &one.run).cmp(&(other.started, &other.run)));
        Ok(live)
    }

    /// Returns the runs of which nobody knows whether they live, because their folder or
    /// lock cannot be read.
    pub fn unreadable(&self) -> Result<Vec<RegisteredRun>, StoreError> {
        let Some(folder) = open_plain(&self.folder)? else { return Ok(Vec::new()) };
        let names = dir::names(&folder, &self.folder)?;
        let entries = names.iter().filter_map(|name| self.read(&folder, name));
        let is_unknown = |entry: &RegisteredRun| matches!(entry.locate(), RunPresence::Unknown);
        Ok(entries.filter(is_unknown).collect())
    }

    /// Records that a run is the person's: its id, and the hash of what it was asked to do.
    /// The record stays until the run is removed.
    pub fn own(&self, run: &RunFolder, at: Timestamp) -> Result<(), StoreError> {
        let path = self.folder.join(OWNED);
        let fail = |error| StoreError::io("make the folder", &path, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(fail)?;
        let folder = open_plain(&path)?.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
        let name = file_name(run.id());
        let record = OwnedRun { run: run.id().clone(), spec: run.spec_hash()?, at };
        let text = serde_json::to_vec(&record)
            .map_err(|error| StoreError::io("write", &path.join(&name), error))?;
        replace(&folder, &name, &path.join(&name), &text, Durability::Flushed)
    }

    /// Whether a run is on record as the person's, with what it was asked to do unchanged.
    /// Its path does not matter: a project may be moved, and no one else can know the id.
    pub fn is_own(&self, run: &RunFolder) -> Result<bool, StoreError> {
        let path = self.folder.join(OWNED);
        let Some(folder) = open_plain(&path)? else { return Ok(false) };
        let name = file_name(run.id());
        let Some(file) = dir::read(&folder, &name, &path.join(&name), MAX_ENTRY_BYTES)? else {
            return Ok(false);
        };
        let record: Option<OwnedRun> = serde_json::from_slice(&file.bytes).ok();
        let hash = run.spec_hash()?;
        Ok(record.is_some_and(|record| record.run == *run.id() && record.spec == hash))
    }

    /// The runs on record as the person's. Costs one listing, however many there are, so
    /// what they were asked to do is not compared.
    pub fn own_ids(&self) -> Result<BTreeSet<RunId>, StoreError> {
        let path = self.folder.join(OWNED);
        let Some(folder) = open_plain(&path)? else { return Ok(BTreeSet::new()) };
        let names = dir::names(&folder, &path)?;
        let id = |name: &String| RunId::new(name.strip_suffix(".json")?).ok();
        Ok(names.iter().filter_map(id).collect())
    }

    /// Forgets a run that is gone.
    pub fn disown(&self, run: &RunId) -> Result<(), StoreError> {
        let path = self.folder.join(OWNED);
        let Some(folder) = open_plain(&path)? else { return Ok(()) };
        remove_entry(&folder, &file_name(run), &path)
    }

    /// Reads an entry; `None` for anything else.
    fn read(&self, folder: &OwnedFd, name: &str) -> Option<RegisteredRun> {
        let id = RunId::new(name.strip_suffix(".json")?).ok()?;
        let file = dir::read(folder, name, &self.folder.join(name), MAX_ENTRY_BYTES).ok()??;
        serde_json::from_slice(&file.bytes).ok().filter(|entry: &RegisteredRun| entry.run == id)
    }
}

enum RunPresence {
    Alive,
    /// No process drives the run, or it no longer exists. While this shared lock is
    /// held, no process can acquire the run and add it again.
    Ended(Option<SharedRunLock>),
    /// Unknown, so the entry is neither listed nor removed.
    Unknown,
}

impl RegisteredRun {
    fn locate(&self) -> RunPresence {
        let project = Project { root: self.root.clone(), tree: self.tree.clone() };
        match Store::new(project).run(&self.run) {
            Ok(None) => RunPresence::Ended(None),
            Err(_) => RunPresence::Unknown,
            Ok(Some(run)) => match run.lock_state() {
                Ok(LockState::Held(_)) => RunPresence::Alive,
                Ok(LockState::Free(free)) => RunPresence::Ended(Some(free)),
                Ok(LockState::Gone) => RunPresence::Ended(None),
                Err(_) => RunPresence::Unknown,
            },
        }
    }
}

fn file_name(id: &RunId) -> String {
    format!("{id}.json")
}

fn remove_entry(folder: &OwnedFd, name: &str, path: &Path) -> Result<(), StoreError> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(StoreError::io("remove", &path.join(name), error)),
    }
}

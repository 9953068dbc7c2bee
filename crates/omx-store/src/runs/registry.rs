//! The live runs of all the person's projects: one small file each, in a folder
//! outside every project. A file says where a run is; only the run's lock says
//! whether it is alive. A file left by a killed run is therefore harmless, and the
//! next reader removes it.

use std::fs::DirBuilder;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use omx_kernel::{ForeignText, RunId, Timestamp};
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::folder::HeldRun;
use super::holder::LockHolder;
use super::lock::{LockState, SharedRunLock};
use crate::any_path;
use crate::dir;
use crate::error::StoreError;
use crate::project::Project;
use crate::replace::{Durability, replace};
use crate::tree::{Store, open_plain};

pub(super) const MAX_ENTRY_BYTES: usize = 64 * 1024;
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

/// The folder of live runs.
#[derive(Clone, Debug)]
pub struct RunRegistry {
    pub(super) folder: PathBuf,
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

pub(super) fn file_name(id: &RunId) -> String {
    format!("{id}.json")
}

pub(super) fn remove_entry(folder: &OwnedFd, name: &str, path: &Path) -> Result<(), StoreError> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(StoreError::io("remove", &path.join(name), error)),
    }
}

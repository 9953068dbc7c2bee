//! The runs that are the person's: one small record each, in a folder outside every
//! project. A record holds what the run was asked to do, and where its folder was.

use std::collections::HashSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use omx_kernel::{RunId, Timestamp};
use rustix::fs::{AtFlags, statat};
use serde::{Deserialize, Serialize};

use super::folder::RunFolder;
use super::registry::{MAX_ENTRY_BYTES, RunRegistry, file_name, remove_entry};
use crate::ContentHash;
use crate::any_path;
use crate::dir;
use crate::error::StoreError;
use crate::replace::{Durability, replace};
use crate::tree::open_plain;

/// The folder of such records, inside the registry's.
const OWNED: &str = "owned";

/// The record of a run that is the person's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OwnedRun {
    run: RunId,
    /// What the run was asked to do, and how the person has changed that since.
    spec: ContentHash,
    /// The same after a change that is being recorded: it may be in the journal or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<ContentHash>,
    at: Timestamp,
    /// The run's folder. Earlier versions did not record it.
    #[serde(default)]
    folder: Option<RecordedFolder>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct RecordedFolder(#[serde(with = "any_path")] PathBuf);

/// What the records say about a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunTitle {
    /// It is the person's.
    Own,
    /// It is the person's, and its project was moved: the recorded folder is gone.
    Moved,
    /// There is no record, it was asked to do something else, or it is a copy of a run
    /// that is still in its place.
    Foreign,
}

impl RunRegistry {
    /// Records that a run is the person's: its id, the hash of what it was asked to do with
    /// these changes, and its folder. The record stays until the run is removed.
    pub fn own(
        &self,
        run: &RunFolder,
        changes: &[String],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        self.write_record(&OwnedRun {
            run: run.id().clone(),
            spec: run.spec_hash(changes)?,
            next: None,
            at,
            folder: Some(RecordedFolder(run.path().to_owned())),
        })
    }

    /// Records that the person is about to change what a run was asked to do. Until
    /// [`Self::own`] follows, the run is the person's with and without the last change.
    pub fn announce_change(
        &self,
        run: &RunFolder,
        changes: &[String],
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let before = changes.split_last().map_or(changes, |(_, before)| before);
        self.write_record(&OwnedRun {
            run: run.id().clone(),
            spec: run.spec_hash(before)?,
            next: Some(run.spec_hash(changes)?),
            at,
            folder: Some(RecordedFolder(run.path().to_owned())),
        })
    }

    fn write_record(&self, record: &OwnedRun) -> Result<(), StoreError> {
        let path = self.folder.join(OWNED);
        let fail = |error| StoreError::io("make the folder", &path, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(fail)?;
        let folder = open_plain(&path)?.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
        let name = file_name(&record.run);
        let text = serde_json::to_vec(record)
            .map_err(|error| StoreError::io("write", &path.join(&name), error))?;
        replace(&folder, &name, &path.join(&name), &text, Durability::Flushed)
    }

    /// Whether a run is on record as the person's, with what it was asked to do, and these
    /// changes of it, and in its place. A project may be moved, so a folder that is gone is no reason
    /// against it; a copy beside the original is.
    pub fn title(&self, run: &RunFolder, changes: &[String]) -> Result<RunTitle, StoreError> {
        let path = self.folder.join(OWNED);
        let Some(folder) = open_plain(&path)? else { return Ok(RunTitle::Foreign) };
        let name = file_name(run.id());
        let Some(file) = dir::read(&folder, &name, &path.join(&name), MAX_ENTRY_BYTES)? else {
            return Ok(RunTitle::Foreign);
        };
        let record: Option<OwnedRun> = serde_json::from_slice(&file.bytes).ok();
        let hash = run.spec_hash(changes)?;
        let record = record.filter(|record| {
            record.run == *run.id() && (record.spec == hash || record.next.as_ref() == Some(&hash))
        });
        Ok(match record.map(|record| record.folder) {
            None => RunTitle::Foreign,
            Some(None) => RunTitle::Own,
            Some(Some(RecordedFolder(recorded))) => compare(run, &recorded),
        })
    }

    /// The runs on record as the person's. Costs one listing, however many there are, so
    /// what they were asked to do is not compared.
    pub fn own_ids(&self) -> Result<HashSet<RunId>, StoreError> {
        let path = self.folder.join(OWNED);
        let Some(folder) = open_plain(&path)? else { return Ok(HashSet::new()) };
        let id = |name: &str| RunId::new(name.strip_suffix(".json")?).ok();
        Ok(dir::names_as(&folder, &path, id)?.into_iter().collect())
    }

    /// Whether a run is on record as the person's, by its id alone.
    pub fn has_record(&self, run: &RunId) -> bool {
        let path = self.folder.join(OWNED);
        let folder = open_plain(&path).ok().flatten();
        folder.is_some_and(|folder| {
            statat(&folder, file_name(run).as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
        })
    }

    /// Forgets a run that is gone.
    pub fn disown(&self, run: &RunId) -> Result<(), StoreError> {
        let path = self.folder.join(OWNED);
        let Some(folder) = open_plain(&path)? else { return Ok(()) };
        remove_entry(&folder, &file_name(run), &path)
    }
}

/// Tells the run in its place from a moved one and from a copy.
fn compare(run: &RunFolder, recorded: &Path) -> RunTitle {
    if run.path() == recorded {
        return RunTitle::Own;
    }
    match open_plain(recorded) {
        Ok(None) => RunTitle::Moved,
        // The same folder by another path, such as a link or a mount.
        Ok(Some(there)) if run.is_folder(&there) => RunTitle::Own,
        // It is there, or nobody can tell.
        Ok(Some(_)) | Err(_) => RunTitle::Foreign,
    }
}

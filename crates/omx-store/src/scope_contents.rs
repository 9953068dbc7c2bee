//! Reads the folder of a scope: its documents, the files that cannot be read as documents,
//! and the temporary files that killed writers left.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use omx_kernel::{Document, Mode, Refusal, RefusalCode, Scope, Snapshot, Timestamp, fields};

use crate::dir;
use crate::error::StoreError;
use crate::json;
use crate::replace::is_temporary;

/// Other programs may write larger documents than omx does. Up to this size they can still
/// be read and cancelled.
const MAX_READ_BYTES: usize = 8 * 1024 * 1024;

/// A file in the place of a document that could not be read as one.
#[derive(Debug)]
pub struct UnreadableDocument {
    /// The mode of the document.
    pub mode: Mode,
    /// The scope of the document.
    pub scope: Scope,
    /// Its path.
    pub path: PathBuf,
    /// Why it could not be read.
    pub error: StoreError,
}

impl UnreadableDocument {
    /// Whether it can be moved to quarantine: it was read and is not a document. Links,
    /// pipes and folders stay where they are.
    pub fn can_be_moved(&self) -> bool {
        matches!(self.error, StoreError::Corrupt { .. } | StoreError::TooLarge { .. })
    }
}

/// The contents of one scope.
#[derive(Debug)]
pub struct ScopeContents {
    /// The readable documents and the session's activity record.
    pub snapshot: Snapshot,
    /// Files in the place of a document that could not be read.
    pub unreadable: Vec<UnreadableDocument>,
    /// Temporary files that killed writers left behind.
    pub(crate) leftovers: Vec<String>,
}

impl ScopeContents {
    /// Whether there is anything to report: a mode that is active or waits for the person,
    /// or an unreadable document.
    pub fn is_noteworthy(&self) -> bool {
        self.snapshot.open_modes().next().is_some() || !self.unreadable.is_empty()
    }

    /// The refusal for a mode whose document could not be read.
    pub fn refusal(&self, mode: Mode) -> Option<Refusal> {
        let found = self.unreadable.iter().find(|found| found.mode == mode)?;
        let code = match found.error {
            StoreError::Unsafe { .. } => RefusalCode::UnsafePath,
            StoreError::TooLarge { .. } => RefusalCode::TooLarge,
            StoreError::Io { .. } => RefusalCode::Io,
            _ => RefusalCode::CorruptState,
        };
        Some(Refusal::new(code, found.error.to_string()))
    }
}

/// Reads everything in the folder of a scope.
pub(crate) fn read_folder(
    folder: impl AsFd,
    scope: &Scope,
    path: &Path,
) -> Result<ScopeContents, StoreError> {
    let mut snapshot = Snapshot::empty(scope.clone());
    let mut unreadable = Vec::new();
    let mut leftovers = Vec::new();
    let mut foreign = Vec::new();
    for name in dir::names(&folder, path)? {
        if is_temporary(&name) {
            leftovers.push(name);
            continue;
        }
        let Some(mode) = Mode::from_file_name(&name) else {
            let is_foreign = |mode: &Mode| mode.foreign_file_name() == Some(name.as_str());
            foreign.extend(Mode::ALL.into_iter().find(is_foreign));
            continue;
        };
        let path = path.join(&name);
        match read_document(&folder, mode, &path) {
            Ok(Some((document, modified))) => {
                snapshot.documents.insert(mode, document);
                snapshot.modified_at.insert(mode, modified);
            }
            // Removed since the folder was listed.
            Ok(None) => {}
            Err(error) => {
                unreadable.push(UnreadableDocument { mode, scope: scope.clone(), path, error })
            }
        }
    }
    for mode in foreign {
        let is_known = snapshot.documents.contains_key(&mode)
            || unreadable.iter().any(|found: &UnreadableDocument| found.mode == mode);
        if !is_known && let Some((document, modified)) = read_foreign_document(&folder, mode, path)
        {
            snapshot.documents.insert(mode, document);
            snapshot.modified_at.insert(mode, modified);
        }
    }
    unreadable.sort_by_key(|found| found.mode);
    Ok(ScopeContents { snapshot, unreadable, leftovers })
}

/// Reads the document that another program keeps for a mode under its own file name.
/// `None` if the file is missing, cannot be read, or says nothing about `active`.
pub(crate) fn read_foreign_document(
    folder: impl AsFd,
    mode: Mode,
    path: &Path,
) -> Option<(Document, Timestamp)> {
    let name = mode.foreign_file_name()?;
    let found = read_named_document(folder, name, mode, path).ok()??;
    found.0.get("active").is_some().then_some(found)
}

/// Reads the document of a mode. `None` if it does not exist.
pub(crate) fn read_document(
    folder: impl AsFd,
    mode: Mode,
    path: &Path,
) -> Result<Option<(Document, Timestamp)>, StoreError> {
    read_named_document(folder, &mode.file_name(), mode, path)
}

fn read_named_document(
    folder: impl AsFd,
    name: &str,
    mode: Mode,
    path: &Path,
) -> Result<Option<(Document, Timestamp)>, StoreError> {
    let Some(file) = dir::read(folder, name, path, MAX_READ_BYTES)? else {
        return Ok(None);
    };
    let corrupt = |why: String| StoreError::Corrupt { path: path.to_owned(), why };
    let text = std::str::from_utf8(&file.bytes).map_err(|_| corrupt("it is not UTF-8".into()))?;
    if text.trim_matches('\0').trim().is_empty() {
        return Err(corrupt("it is empty".into()));
    }
    let fields = json::parse_object(text, |name| fields::is_read(mode, name)).map_err(corrupt)?;
    Ok(Some((Document::new(fields), file.modified)))
}

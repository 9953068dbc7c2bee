//! Documents: found by scope and mode, read without the lock, written under it.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use omx_kernel::cancel::OpenModes;
use omx_kernel::{Document, Mode, Refusal, Scope, SessionId, Snapshot};
use rustix::fs::{AtFlags, FileType, statat, unlinkat};
use rustix::io::Errno;

use crate::dir::{self, open, open_or_make};
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::json;
use crate::lock::LockedStore;
use crate::replace::{Durability, replace};
use crate::scope_contents::{ScopeContents, read_document, read_folder, read_foreign_document};
use crate::tree::{StateDir, session_path};

/// The open folder of a scope's documents.
#[derive(Debug)]
pub(crate) enum ScopeFolder<'a> {
    /// The `state` folder itself.
    State(BorrowedFd<'a>),
    /// The folder of a session.
    Session(OwnedFd),
}

impl AsFd for ScopeFolder<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::State(folder) => *folder,
            Self::Session(folder) => folder.as_fd(),
        }
    }
}

impl StateDir {
    /// The folder of a scope's documents.
    pub fn scope_path(&self, scope: &Scope) -> PathBuf {
        match scope {
            Scope::Compatibility => self.path().to_owned(),
            Scope::Session(id) => session_path(self.path(), id),
        }
    }

    /// The path of a document.
    pub fn document_path(&self, scope: &Scope, mode: Mode) -> PathBuf {
        self.scope_path(scope).join(mode.file_name())
    }

    /// Reads a document. `None` if it does not exist.
    pub fn document(&self, scope: &Scope, mode: Mode) -> Result<Option<Document>, StoreError> {
        let Some(folder) = self.open_scope(scope)? else { return Ok(None) };
        let path = self.document_path(scope, mode);
        let mut found = read_document(&folder, mode, &path)?;
        if found.is_none() {
            found = read_foreign_document(&folder, mode, &path);
        }
        Ok(found.map(|(document, _)| document))
    }

    /// Reads all documents of a scope, with the session's activity record.
    pub fn scope(&self, scope: &Scope) -> Result<ScopeContents, StoreError> {
        let mut read = self.scope_documents(scope)?;
        read.snapshot.activity = self.activity(scope);
        Ok(read)
    }

    /// The ids of all sessions that have a folder, sorted. Other entries are skipped, so
    /// that they cannot hide a session.
    pub fn sessions(&self) -> Result<Vec<SessionId>, StoreError> {
        let path = self.path().join("sessions");
        let Some(folder) = open(&self.fd, "sessions", &path)? else { return Ok(Vec::new()) };
        let mut sessions = session_names(&folder, &path)?;
        sessions.retain(|id| is_folder(&folder, id));
        Ok(sessions)
    }

    /// Fails if the folder of a scope is something other than a folder.
    pub fn check_scope(&self, scope: &Scope) -> Result<(), StoreError> {
        self.open_scope(scope).map(drop)
    }

    /// Entries that have a session's name but are not folders, and folders with documents
    /// whose name is no session id. omx uses neither, but reports them.
    pub fn foreign_session_entries(&self) -> Vec<StoreError> {
        let path = self.path().join("sessions");
        let Ok(Some(folder)) = open(&self.fd, "sessions", &path) else { return Vec::new() };
        let names = session_names(&folder, &path).unwrap_or_default();
        let strays = names.iter().filter(|id| !is_folder(&folder, id));
        let strays = strays.map(|id| dir::refused(&folder, id.as_str(), &path.join(id.as_str())));
        let odd = odd_session_names(&folder, &path).unwrap_or_default();
        let has_documents = |name: &String| {
            let path = path.join(name);
            let Ok(Some(folder)) = open(&folder, name, &path) else { return false };
            let names = dir::names(&folder, &path).unwrap_or_default();
            names.iter().any(|name| Mode::from_file_name(name).is_some())
        };
        let odd = odd.into_iter().filter(has_documents).map(|name| StoreError::Corrupt {
            path: path.join(name),
            why: "its name is not a session id".to_owned(),
        });
        strays.chain(odd).collect()
    }

    /// Reads the documents of every session, in the order of their ids, and passes each
    /// session to `visit`. A session whose folder cannot be opened does not hide the others.
    pub fn for_each_session(&self, mut visit: impl FnMut(ScopeContents)) -> Result<(), StoreError> {
        let path = self.path().join("sessions");
        let Some(folder) = open(&self.fd, "sessions", &path)? else { return Ok(()) };
        for session in session_names(&folder, &path)? {
            let scope_path = path.join(session.as_str());
            let Ok(Some(scope_folder)) = open(&folder, session.as_str(), &scope_path) else {
                continue;
            };
            let scope = Scope::Session(session);
            let Ok(mut read) = read_folder(&scope_folder, &scope, &scope_path) else { continue };
            if read.snapshot.active_modes().next().is_some() {
                read.snapshot.activity = self.activity(&scope);
            }
            visit(read);
        }
        Ok(())
    }

    /// The sessions with modes that are active or wait for the person, with those modes.
    pub fn open_sessions(&self) -> Result<BTreeMap<SessionId, OpenModes>, StoreError> {
        let mut open = BTreeMap::new();
        self.for_each_session(|read| {
            let snapshot = read.snapshot;
            let modes = OpenModes {
                active: snapshot.active_modes().collect(),
                waiting: snapshot.waiting_modes().collect(),
            };
            if let (Scope::Session(session), false) = (snapshot.scope, modes.is_empty()) {
                open.insert(session, modes);
            }
        })?;
        Ok(open)
    }

    fn scope_documents(&self, scope: &Scope) -> Result<ScopeContents, StoreError> {
        let path = self.scope_path(scope);
        match self.open_scope(scope)? {
            Some(folder) => read_folder(&folder, scope, &path),
            None => Ok(ScopeContents {
                snapshot: Snapshot::empty(scope.clone()),
                unreadable: Vec::new(),
                leftovers: Vec::new(),
            }),
        }
    }

    pub(crate) fn open_scope(&self, scope: &Scope) -> Result<Option<ScopeFolder<'_>>, StoreError> {
        match scope {
            Scope::Compatibility => Ok(Some(ScopeFolder::State(self.fd.as_fd()))),
            Scope::Session(id) => {
                let path = self.path().join("sessions");
                let Some(sessions) = open(&self.fd, "sessions", &path)? else { return Ok(None) };
                let folder = open(&sessions, id.as_str(), &path.join(id.as_str()))?;
                Ok(folder.map(ScopeFolder::Session))
            }
        }
    }
}

impl LockedStore {
    /// Reads a scope that is about to be changed, and removes what killed writers left in
    /// it.
    pub fn scope(&self, scope: &Scope) -> Result<ScopeContents, StoreError> {
        let read = self.state.scope(scope)?;
        if !read.leftovers.is_empty()
            && let Some(folder) = self.state.open_scope(scope)?
        {
            for leftover in &read.leftovers {
                let _ = unlinkat(&folder, leftover.as_str(), AtFlags::empty());
            }
        }
        Ok(read)
    }

    /// Replaces a document. After `Ok` it survives a power loss.
    pub fn write(&self, scope: &Scope, mode: Mode, document: &Document) -> Result<(), StoreError> {
        let path = self.state.document_path(scope, mode);
        let text = json::document_text(document.fields());
        let folder = self.make_scope(scope)?;
        replace(&folder, &mode.file_name(), &path, text.as_bytes(), Durability::Flushed)?;
        if let Some(foreign) = mode.foreign_file_name()
            && statat(&folder, foreign, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        {
            // This document continues it and takes precedence, so a failure does no harm.
            let _ = unlinkat(&folder, foreign, AtFlags::empty());
        }
        Ok(())
    }

    /// Refuses a document that is larger or nested deeper than omx writes.
    pub fn check_size(document: &Document) -> Result<(), Refusal> {
        let text = json::document_text(document.fields());
        let depth = json::nesting_depth(&text);
        let what = if text.len() > crate::MAX_DOCUMENT_BYTES {
            format!("the document would have {} bytes", text.len())
        } else if depth > crate::MAX_DEPTH {
            format!("the document would be nested {depth} levels deep")
        } else {
            return Ok(());
        };
        Err(StoreError::TooLarge { what }.into())
    }

    /// Removes a document and returns whether it existed.
    pub fn remove(&self, scope: &Scope, mode: Mode) -> Result<bool, StoreError> {
        let Some(folder) = self.state.open_scope(scope)? else { return Ok(false) };
        let path = self.state.document_path(scope, mode);
        let foreign = mode.foreign_file_name().map(|name| remove_file(&folder, name, &path));
        Ok(remove_file(&folder, &mode.file_name(), &path)? | foreign.transpose()?.unwrap_or(false))
    }

    fn make_scope(&self, scope: &Scope) -> Result<ScopeFolder<'_>, StoreError> {
        if let Some(folder) = self.state.open_scope(scope)? {
            return Ok(folder);
        }
        let Scope::Session(id) = scope else {
            let path = self.state.scope_path(scope);
            return Err(StoreError::io("open", &path, std::io::ErrorKind::NotFound));
        };
        let path = self.state.path().join("sessions");
        let sessions = open_or_make(&self.state.fd, "sessions", &path)?;
        let folder = open_or_make(&sessions, id.as_str(), &path.join(id.as_str()))?;
        Ok(ScopeFolder::Session(folder))
    }
}

/// The valid session ids among the names in the folder of sessions, sorted.
pub(crate) fn session_names(folder: &OwnedFd, path: &Path) -> Result<Vec<SessionId>, StoreError> {
    let mut sessions = dir::names_as(folder, path, |name| SessionId::new(name).ok())?;
    sessions.sort();
    Ok(sessions)
}

/// The names in the folder of sessions that are no session ids, sorted.
pub(crate) fn odd_session_names(folder: &OwnedFd, path: &Path) -> Result<Vec<String>, StoreError> {
    let is_odd = |name: &str| SessionId::new(name).is_err().then(|| name.to_owned());
    let mut names = dir::names_as(folder, path, is_odd)?;
    names.sort();
    Ok(names)
}

fn is_folder(parent: &OwnedFd, session: &SessionId) -> bool {
    statat(parent, session.as_str(), AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir())
}

/// Removes a file, flushes its folder, and returns whether the file existed.
pub(crate) fn remove_file(folder: impl AsFd, name: &str, path: &Path) -> Result<bool, StoreError> {
    match unlinkat(&folder, name, AtFlags::empty()) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Ok(false),
        Err(error) => return Err(StoreError::io("remove", path, error)),
    }
    flush_all(&folder).map_err(|error| StoreError::Unflushed {
        done: "removed",
        path: path.to_owned(),
        source: error,
    })?;
    Ok(true)
}

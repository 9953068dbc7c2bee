//! What force removes beyond the documents themselves.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use omx_kernel::Mode;
use omx_kernel::cancel::{LEGACY_FILES, LEGACY_FOLDERS};
use rustix::fs::{AtFlags, FileType, fsync, statat, unlinkat};

use crate::dir::{self, open};
use crate::documents::{read_document, remove_file, session_names};
use crate::error::StoreError;
use crate::lock::Locked;
use crate::replace::is_temporary;

/// What a sweep removed, and what it left and why.
#[derive(Debug, Default)]
pub struct Swept {
    /// Removed files and folders.
    pub removed: Vec<PathBuf>,
    /// Things that are no files of omx and were left alone.
    pub kept: Vec<PathBuf>,
}

impl Locked {
    /// Removes the documents of every mode in every scope, empty session
    /// folders, and the leftovers of older versions. Plans, logs, runs,
    /// quarantine and the lock stay.
    pub fn sweep(&self) -> Result<Swept, StoreError> {
        let mut swept = Swept::default();
        let state = &self.state.fd;
        let sessions_path = self.state.path().join("sessions");
        match open(state, "sessions", &sessions_path) {
            Ok(Some(sessions)) => sweep_sessions(&sessions, &sessions_path, &mut swept)?,
            Ok(None) => {}
            Err(_) => swept.kept.push(sessions_path),
        }
        remove_documents(state, self.state.path(), &mut swept)?;
        for name in LEGACY_FILES {
            remove_plain(state, name, &self.state.path().join(name), &mut swept)?;
        }
        for name in LEGACY_FOLDERS {
            let path = self.state.path().join(name);
            match open(state, name, &path) {
                Ok(Some(folder)) => {
                    empty(&folder, &path)?;
                    unlinkat(state, name, AtFlags::REMOVEDIR)
                        .map_err(|error| StoreError::io("remove", &path, error))?;
                    swept.removed.push(path);
                }
                Ok(None) => {}
                Err(_) => swept.kept.push(path),
            }
        }
        let _ = unlinkat(state, "sessions", AtFlags::REMOVEDIR);
        fsync(state).map_err(|error| StoreError::io("flush", self.state.path(), error))?;
        Ok(swept)
    }
}

fn sweep_sessions(
    sessions: &OwnedFd,
    sessions_path: &Path,
    swept: &mut Swept,
) -> Result<(), StoreError> {
    for session in session_names(sessions, sessions_path)? {
        let path = sessions_path.join(session.as_str());
        let Ok(Some(folder)) = open(sessions, session.as_str(), &path) else {
            swept.kept.push(path);
            continue;
        };
        remove_documents(&folder, &path, swept)?;
        // Only an empty folder lets itself be removed.
        let _ = unlinkat(sessions, session.as_str(), AtFlags::REMOVEDIR);
    }
    Ok(())
}

fn remove_documents(folder: &OwnedFd, path: &Path, swept: &mut Swept) -> Result<(), StoreError> {
    for name in dir::names(folder, path)? {
        if let Some(mode) = Mode::from_file_name(&name) {
            let path = &path.join(&name);
            if read_document(folder, mode, path).is_ok() {
                remove_plain(folder, &name, path, swept)?;
            } else {
                // What could be moved to quarantine is there by now; the rest stays.
                swept.kept.push(path.clone());
            }
        } else if is_temporary(&name) {
            let _ = unlinkat(folder, name.as_str(), AtFlags::empty());
        }
    }
    Ok(())
}

/// Removes a plain file; a link, pipe or folder of that name is not ours.
fn remove_plain(
    folder: &OwnedFd,
    name: &str,
    path: &Path,
    swept: &mut Swept,
) -> Result<(), StoreError> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(_) => {}
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
            if remove_file(folder, name, path)? {
                swept.removed.push(path.to_owned());
            }
        }
        Ok(_) => swept.kept.push(path.to_owned()),
    }
    Ok(())
}

/// Empties a folder; links in it are removed, never followed.
pub(crate) fn empty(folder: impl AsFd, path: &Path) -> Result<(), StoreError> {
    for name in dir::raw_names(&folder, path)? {
        let name = name.as_c_str();
        let path = path.join(OsStr::from_bytes(name.to_bytes()));
        let fail = |error| StoreError::io("remove", &path, error);
        match open(&folder, name, &path) {
            Ok(Some(inner)) => {
                empty(&inner, &path)?;
                unlinkat(&folder, name, AtFlags::REMOVEDIR).map_err(fail)?;
            }
            Ok(None) => {}
            Err(_) => unlinkat(&folder, name, AtFlags::empty()).map_err(fail)?,
        }
    }
    Ok(())
}

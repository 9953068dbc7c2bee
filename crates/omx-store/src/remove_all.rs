//! Removes every document, for `cancel --force`.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use omx_kernel::Mode;
use omx_kernel::cancel::{LEGACY_FILES, LEGACY_FOLDERS};
use rustix::fs::{AtFlags, FileType, statat, unlinkat};

use crate::dir::{self, open};
use crate::documents::{odd_session_names, remove_file, session_names};
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::lock::LockedStore;
use crate::remove_tree::remove_contents;
use crate::replace::is_temporary;
use crate::scope_contents::read_document;

/// What was removed, and what was left.
#[derive(Debug, Default)]
pub struct RemovedFiles {
    /// Removed files and folders.
    pub removed: Vec<PathBuf>,
    /// Entries that are not files of omx and were left alone.
    pub kept: Vec<PathBuf>,
}

impl LockedStore {
    /// Removes the documents of every mode in every scope, empty session folders, and the
    /// files of older versions. Plans, logs, runs, quarantine and the lock stay.
    pub fn remove_all_documents(&self) -> Result<RemovedFiles, StoreError> {
        let mut outcome = RemovedFiles::default();
        let state = &self.state.fd;
        let sessions_path = self.state.path().join("sessions");
        match open(state, "sessions", &sessions_path) {
            Ok(Some(sessions)) => {
                remove_session_documents(&sessions, &sessions_path, &mut outcome)?
            }
            Ok(None) => {}
            Err(_) => outcome.kept.push(sessions_path),
        }
        remove_documents(state, self.state.path(), &mut outcome)?;
        for name in LEGACY_FILES {
            remove_plain(state, name, &self.state.path().join(name), &mut outcome)?;
        }
        for name in LEGACY_FOLDERS {
            let path = self.state.path().join(name);
            match open(state, name, &path) {
                Ok(Some(folder)) => {
                    remove_contents(&folder, &path)?;
                    unlinkat(state, name, AtFlags::REMOVEDIR)
                        .map_err(|error| StoreError::io("remove", &path, error))?;
                    outcome.removed.push(path);
                }
                Ok(None) => {}
                Err(_) => outcome.kept.push(path),
            }
        }
        let _ = unlinkat(state, "sessions", AtFlags::REMOVEDIR);
        flush_all(state).map_err(|error| StoreError::io("flush", self.state.path(), error))?;
        Ok(outcome)
    }
}

fn remove_session_documents(
    sessions: &OwnedFd,
    sessions_path: &Path,
    outcome: &mut RemovedFiles,
) -> Result<(), StoreError> {
    for session in session_names(sessions, sessions_path)? {
        let path = sessions_path.join(session.as_str());
        let Ok(Some(folder)) = open(sessions, session.as_str(), &path) else {
            outcome.kept.push(path);
            continue;
        };
        remove_documents(&folder, &path, outcome)?;
        // Fails, as it should, for a folder that is not empty.
        let _ = unlinkat(sessions, session.as_str(), AtFlags::REMOVEDIR);
    }
    for name in odd_session_names(sessions, sessions_path)? {
        let path = sessions_path.join(&name);
        let Ok(Some(folder)) = open(sessions, &name, &path) else { continue };
        remove_documents(&folder, &path, outcome)?;
        let _ = unlinkat(sessions, name.as_str(), AtFlags::REMOVEDIR);
    }
    Ok(())
}

fn remove_documents(
    folder: &OwnedFd,
    path: &Path,
    outcome: &mut RemovedFiles,
) -> Result<(), StoreError> {
    for name in dir::names(folder, path)? {
        if let Some(mode) = Mode::from_file_name(&name) {
            let path = &path.join(&name);
            if read_document(folder, mode, path).is_ok() {
                remove_plain(folder, &name, path, outcome)?;
            } else {
                // Whatever can be moved to quarantine is there already; the rest stays.
                outcome.kept.push(path.clone());
            }
        } else if is_temporary(&name) {
            let _ = unlinkat(folder, name.as_str(), AtFlags::empty());
        }
    }
    Ok(())
}

/// Removes a regular file. A link, pipe or folder of that name is not a file of omx.
fn remove_plain(
    folder: &OwnedFd,
    name: &str,
    path: &Path,
    outcome: &mut RemovedFiles,
) -> Result<(), StoreError> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(_) => {}
        Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_file() => {
            if remove_file(folder, name, path)? {
                outcome.removed.push(path.to_owned());
            }
        }
        Ok(_) => outcome.kept.push(path.to_owned()),
    }
    Ok(())
}

//! Moves unreadable documents to quarantine. They are never deleted, so one broken file
//! blocks nothing and nothing is lost.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use omx_kernel::{Mode, Scope, SessionId, Timestamp};
use rustix::fs::{RenameFlags, renameat, renameat_with};
use rustix::io::Errno;

use crate::dir::open_or_make;
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::lock::LockedStore;
use crate::scope_contents::UnreadableDocument;

/// A document that was moved to quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuarantinedDocument {
    /// The mode of the document.
    pub mode: Mode,
    /// The scope of the document.
    pub scope: Scope,
    /// Its new path.
    pub path: PathBuf,
}

impl LockedStore {
    /// Moves an unreadable document to quarantine. Only a file that was *read* and is not a
    /// document is moved; links, pipes and folders stay where they are.
    pub fn quarantine(
        &self,
        found: &UnreadableDocument,
        now: Timestamp,
    ) -> Result<Option<QuarantinedDocument>, StoreError> {
        if !found.can_be_moved() {
            return Ok(None);
        }
        let path = self.state.path().join("quarantine");
        let folder = open_or_make(&self.state.fd, "quarantine", &path)?;
        let Some(source) = self.state.open_scope(&found.scope)? else { return Ok(None) };
        let owner = found.scope.session().map_or("compatibility", SessionId::as_str);
        let time = now.to_string().replace(':', "");
        let stem = format!("{time}-{owner}-{}", found.mode.file_name());
        let name = self.move_aside(found, &source, &folder, &stem)?;
        for flushed in [folder.as_fd(), source.as_fd()] {
            flush_all(flushed).map_err(|error| StoreError::io("flush", &path, error))?;
        }
        let path = path.join(name);
        Ok(Some(QuarantinedDocument { mode: found.mode, scope: found.scope.clone(), path }))
    }

    fn move_aside(
        &self,
        found: &UnreadableDocument,
        source: impl AsFd,
        folder: &OwnedFd,
        stem: &str,
    ) -> Result<String, StoreError> {
        let from = found.mode.file_name();
        for attempt in 0..100 {
            let name = if attempt == 0 { stem.to_owned() } else { format!("{stem}.{attempt}") };
            match renameat_with(&source, &from, folder, &name, RenameFlags::NOREPLACE) {
                Ok(()) => return Ok(name),
                Err(Errno::EXIST) => {}
                // Some file systems do not support the flag.
                Err(Errno::INVAL | Errno::NOSYS) => {
                    renameat(&source, &from, folder, &name)
                        .map_err(|error| StoreError::io("quarantine", &found.path, error))?;
                    return Ok(name);
                }
                Err(error) => return Err(StoreError::io("quarantine", &found.path, error)),
            }
        }
        Err(StoreError::io("quarantine", &found.path, std::io::ErrorKind::AlreadyExists))
    }
}

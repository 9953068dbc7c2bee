//! A session's activity record: small, never flushed, and optional. Nothing fails because
//! it is missing or cannot be read.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use omx_kernel::activity::SessionActivity;
use omx_kernel::{Scope, SessionId, Timestamp};
use rustix::fs::{AtFlags, OFlags, statat, unlinkat};

use crate::dir::{self, open, open_or_make};
use crate::error::StoreError;
use crate::lock::LockedStore;
use crate::replace::{Durability, replace};
use crate::tree::StateDir;

pub(crate) const FOLDER: &str = ".activity";
const MAX_BYTES: usize = 64 * 1024;
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// The name of the record's file. No session id begins with an underscore.
fn file_name(scope: &Scope) -> String {
    match scope {
        Scope::Compatibility => "_compatibility.json".to_owned(),
        Scope::Session(id) => format!("{id}.json"),
    }
}

impl StateDir {
    /// The record of a scope, or an empty one if none can be read.
    pub fn activity(&self, scope: &Scope) -> SessionActivity {
        self.read_activity(scope).ok().flatten().unwrap_or_default()
    }

    /// Requests the cancel of a session without the lock: an empty file beside its record.
    /// Does nothing if no session has a record.
    pub fn request_cancel(&self, session: &SessionId) -> Result<(), StoreError> {
        let path = self.path().join(FOLDER);
        let Some(folder) = open(&self.fd, FOLDER, &path)? else { return Ok(()) };
        let name = format!("{session}.cancel");
        let flags = OFlags::WRONLY | OFlags::CREATE;
        dir::open_file(&folder, &name, &path.join(&name), flags).map(drop)
    }

    fn read_activity(&self, scope: &Scope) -> Result<Option<SessionActivity>, StoreError> {
        let path = self.path().join(FOLDER);
        let Some(folder) = open(&self.fd, FOLDER, &path)? else { return Ok(None) };
        let name = file_name(scope);
        let file = dir::read(&folder, &name, &path.join(&name), MAX_BYTES)?;
        Ok(file.and_then(|file| serde_json::from_slice(&file.bytes).ok()))
    }
}

impl LockedStore {
    /// Replaces the record of a scope. Creating a new record also removes those that have
    /// not changed for a day.
    pub fn write_activity(
        &self,
        scope: &Scope,
        activity: &SessionActivity,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let path = self.state.path().join(FOLDER);
        let folder = open_or_make(&self.state.fd, FOLDER, &path)?;
        let name = file_name(scope);
        let is_new = statat(&folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_err();
        let text = serde_json::to_vec(activity)
            .map_err(|error| StoreError::io("write", &path, std::io::Error::other(error)))?;
        replace(&folder, &name, &path.join(&name), &text, Durability::Relaxed)?;
        if is_new {
            prune(&folder, path, now);
        }
        Ok(())
    }
}

/// Removes records that have not changed for a day, as far as possible.
fn prune(folder: &OwnedFd, path: PathBuf, now: Timestamp) {
    let oldest = now.millis() / 1_000 - KEPT_SECONDS;
    for name in dir::names(folder, &path).unwrap_or_default() {
        let is_old = statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| stat.st_mtime < oldest);
        if is_old {
            let _ = unlinkat(folder, name.as_str(), AtFlags::empty());
        }
    }
}

//! A run's lock. Whoever drives a run holds it exclusively for life; the kernel
//! lets go of it when the process is gone, however that came about. So "alive"
//! means "locked", and a living run cannot be resumed a second time.
//!
//! To look is to try a shared lock for a moment. Somebody who wants to take
//! the run must not mistake a looker for its driver: if a shared lock can be
//! had, no driver holds it.

use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, OFlags, fstat, statat};

use super::holder::LockHolder;
use crate::dir::open_file;
use crate::error::StoreError;

pub(super) const LOCK_FILE: &str = "lock";
/// Written with one call and one length, so that a reader never sees half.
const HOLDER_LENGTH: usize = 160;
/// A look takes microseconds; this many milliseconds of them end in `held`.
const PROBE_ATTEMPTS: u32 = 500;

/// Whether somebody drives a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Somebody holds the lock: who, if it can be told.
    Alive(Option<LockHolder>),
    /// Nobody does.
    Ended,
}

/// The lock of a run, held until this is dropped.
#[derive(Debug)]
pub(super) struct RunLock {
    _file: File,
}

/// What came of trying to take a lock.
pub(super) enum LockAttempt {
    Acquired(RunLock),
    HeldBy(Option<LockHolder>),
    /// The run was removed meanwhile.
    Gone,
}

/// What came of a look.
pub(super) enum LockState {
    Held(Option<LockHolder>),
    Free(SharedRunLock),
    Gone,
}

/// While this is kept, nobody can take the run.
pub(super) struct SharedRunLock {
    _file: File,
}

/// Takes the lock of a run and notes in it who did.
pub(super) fn acquire(
    folder: &OwnedFd,
    path: &Path,
    holder: &LockHolder,
) -> Result<LockAttempt, StoreError> {
    let flags = OFlags::RDWR | OFlags::CREATE;
    let Some(file) = open_file(folder, LOCK_FILE, path, flags)? else {
        return Ok(LockAttempt::Gone);
    };
    if !lock_exclusively(&file, path)? {
        return Ok(LockAttempt::HeldBy(read_holder(&file)));
    }
    let ours = fstat(&file).map_err(|error| StoreError::io("look at", path, error))?;
    let there = statat(folder, LOCK_FILE, AtFlags::SYMLINK_NOFOLLOW);
    if !there.is_ok_and(|there| there.st_ino == ours.st_ino) {
        return Ok(LockAttempt::Gone);
    }
    note_holder(&file, holder);
    Ok(LockAttempt::Acquired(RunLock { _file: file }))
}

/// Looks whether somebody holds the lock of a run.
pub(super) fn probe(folder: &OwnedFd, path: &Path) -> Result<LockState, StoreError> {
    let Some(file) = open_file(folder, LOCK_FILE, path, OFlags::RDONLY)? else {
        return Ok(LockState::Gone);
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(LockState::Free(SharedRunLock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(LockState::Held(read_holder(&file))),
        Err(TryLockError::Error(error)) => Err(StoreError::io("lock", path, error)),
    }
}

/// Whether the lock was had. A driver keeps even a shared lock from being had;
/// somebody who only looks does not, and is gone in a moment.
fn lock_exclusively(file: &File, path: &Path) -> Result<bool, StoreError> {
    let fail = |error| StoreError::io("lock", path, error);
    for _ in 0..PROBE_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        match file.try_lock_shared() {
            Ok(()) => file.unlock().map_err(fail)?,
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(false)
}

/// Information for a person and for signals; best effort.
fn note_holder(lock: &File, holder: &LockHolder) {
    let text = serde_json::to_string(holder).unwrap_or_default();
    let line = format!("{text:<width$}\n", width = HOLDER_LENGTH - 1);
    let _ = lock.write_at(line.as_bytes(), 0);
}

fn read_holder(lock: &File) -> Option<LockHolder> {
    let mut bytes = [0; 2 * HOLDER_LENGTH];
    let length = lock.read_at(&mut bytes, 0).ok()?;
    serde_json::from_slice(bytes.get(..length)?).ok()
}

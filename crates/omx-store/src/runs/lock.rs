//! A run's lock. The process that drives a run holds it exclusively as long as it
//! lives; the kernel releases it when the process exits for any reason. So "alive"
//! means "locked", and a live run cannot be resumed a second time.
//!
//! A probe takes a shared lock for a moment. A process that acquires the run must not
//! mistake a probe for the driver: if a shared lock is available, there is no driver.

use std::fs::{File, TryLockError};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{AtFlags, OFlags, fstat, statat};

use omx_process::platform::{exclusive_lock_holders, is_this_program};

use super::holder::LockHolder;
use crate::dir::open_file;
use crate::error::StoreError;

pub(super) const LOCK_FILE: &str = "lock";
/// The holder is written with one call and a fixed length, so that a reader never
/// sees a part.
const HOLDER_LENGTH: usize = 160;
/// How often, a millisecond apart, to retry acquiring because of probes, which take
/// only microseconds each.
const PROBE_ATTEMPTS: u32 = 500;

/// Whether a process drives a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// A process holds the lock; which one, if that is known.
    Alive(Option<LockHolder>),
    /// No process holds the lock.
    Ended,
}

/// Who holds a lock that is held. What the lock file says is not enough: an agent that works
/// in place can write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LockOwner {
    /// The process that drives the run.
    Driver {
        /// The process.
        process: LockHolder,
        /// Another process that the lock file names instead.
        named: Option<u32>,
    },
    /// A process that does not drive the run.
    Stranger(u32),
    /// The system does not say, and the process that the lock file names is not omx.
    Unknown,
}

/// The lock of a run, held until this is dropped.
#[derive(Debug)]
pub(super) struct RunLock {
    _file: File,
}

/// The outcome of acquiring a lock.
pub(super) enum LockAttempt {
    Acquired(RunLock),
    HeldBy(Option<LockHolder>),
    /// The run was removed meanwhile.
    Gone,
}

/// The outcome of a probe.
pub(super) enum LockState {
    Held(Option<LockHolder>),
    Free(SharedRunLock),
    Gone,
}

/// While this exists, no process can acquire the run.
pub(super) struct SharedRunLock {
    _file: File,
}

/// Acquires the lock of a run and records the holder in it.
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

/// Finds out whether a process holds the lock of a run.
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

/// Finds out who holds the lock of a run; `None` if nobody does.
pub(super) fn find_owner(folder: &OwnedFd, path: &Path) -> Result<Option<LockOwner>, StoreError> {
    let Some(file) = open_file(folder, LOCK_FILE, path, OFlags::RDONLY)? else { return Ok(None) };
    match file.try_lock_shared() {
        Ok(()) => return Ok(None),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path, error)),
    }
    let noted = read_holder(&file);
    let inode = fstat(&file).map_err(|error| StoreError::io("look at", path, error))?.st_ino;
    let holders = exclusive_lock_holders(inode).unwrap_or_default();
    let is_noted = |pid: &u32| noted.as_ref().is_some_and(|noted| noted.pid == *pid);
    let found = holders.iter().find(|pid| is_noted(pid));
    let found = found.or_else(|| holders.iter().find(|pid| is_this_program(**pid)));
    Ok(Some(match (found, holders.first()) {
        (Some(pid), _) => LockOwner::Driver {
            process: LockHolder::of_process(*pid),
            named: noted.map(|noted| noted.pid).filter(|noted| noted != pid),
        },
        (None, Some(pid)) => LockOwner::Stranger(*pid),
        // Some file systems have other inodes in the kernel's list.
        (None, None) => match noted.filter(|noted| is_this_program(noted.pid)) {
            Some(process) => LockOwner::Driver { process, named: None },
            None => LockOwner::Unknown,
        },
    }))
}

/// Returns whether the lock was acquired. A driver prevents even a shared lock; a
/// probe does not, and ends in a moment.
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

/// Records the holder for messages and signals. Errors are ignored.
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

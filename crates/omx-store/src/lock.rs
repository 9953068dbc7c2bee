//! The project's lock: a file lock of the operating system, released when its process
//! exits.
//!
//! Waiting has a deadline, because a suspended holder must not block every hook and
//! cancel of the project.

use std::fs::{File, TryLockError};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use crate::dir::{FILE_MODE, open_or_make, refused};
use crate::error::StoreError;
use crate::replace::{Durability, replace};
use crate::tree::{StateDir, Store};

const LOCK_FILE: &str = ".lock";
const HOLDER_LENGTH: usize = 48;

/// A store whose lock is held, and which therefore may be changed.
#[derive(Debug)]
pub struct LockedStore {
    pub(crate) tree: OwnedFd,
    pub(crate) tree_path: PathBuf,
    pub(crate) state: StateDir,
    _lock: File,
}

impl LockedStore {
    /// The folder of documents, for reading.
    pub fn state(&self) -> &StateDir {
        &self.state
    }
}

impl Store {
    /// Takes the project's lock, and creates missing folders first. Processes that wait too
    /// long are told `purpose`. With a deadline of
    /// zero it tries once and never waits.
    pub fn lock(&self, deadline: Duration, purpose: &str) -> Result<LockedStore, StoreError> {
        let tree_path = self.tree().to_owned();
        let tree = self.open_or_make_tree()?;
        let state_path = tree_path.join("state");
        let state = open_or_make(&tree, "state", &state_path)?;
        let lock_path = state_path.join(LOCK_FILE);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&state, LOCK_FILE, flags, FILE_MODE).map_err(|error| match error {
            Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::NODEV => {
                refused(&state, LOCK_FILE, &lock_path)
            }
            error => StoreError::io("open the lock", &lock_path, error),
        })?;
        let is_file = fstat(&fd).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
        if !is_file {
            return Err(refused(&state, LOCK_FILE, &lock_path));
        }
        let lock = acquire(File::from(fd), deadline, &lock_path)?;
        note_holder(&lock, purpose);
        ignore_in_git(&tree, &tree_path)?;
        Ok(LockedStore { tree, tree_path, state: StateDir::new(state, state_path), _lock: lock })
    }
}

fn acquire(file: File, deadline: Duration, path: &Path) -> Result<File, StoreError> {
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {}
        Err(TryLockError::Error(error)) => return Err(StoreError::io("lock", path, error)),
    }
    if deadline.is_zero() {
        return Err(StoreError::Busy { waited: 0, holder: holder(&file) });
    }
    let start = Instant::now();
    let waiting = file.try_clone().map_err(|error| StoreError::io("lock", path, error))?;
    let (done, locked) = mpsc::channel::<io::Result<File>>();
    // The kernel queues waiting processes; polling would starve behind them. If the deadline
    // passes first, the thread releases the lock as soon as it gets it.
    std::thread::Builder::new()
        .name("lock".into())
        .spawn(move || {
            let result = waiting.lock().map(|()| waiting);
            let _ = done.send(result);
        })
        .map_err(|error| StoreError::io("lock", path, error))?;
    match locked.recv_timeout(deadline) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(error)) => Err(StoreError::io("lock", path, error)),
        Err(_) => {
            Err(StoreError::Busy { waited: start.elapsed().as_millis(), holder: holder(&file) })
        }
    }
}

/// Writes the holder into the lock file, for messages only. Nothing relies on it.
fn note_holder(lock: &File, purpose: &str) {
    let text = format!("{} {purpose}", std::process::id());
    let line = format!("{:<width$.width$}\n", text, width = HOLDER_LENGTH - 1);
    // A server takes the lock again and again. Writing the same line again would only make
    // the next flush of a document write the inode of the lock file too.
    let mut noted = [0; HOLDER_LENGTH];
    let is_noted = lock.read_at(&mut noted, 0).is_ok() && noted == *line.as_bytes();
    if !is_noted {
        let _ = lock.write_at(line.as_bytes(), 0);
    }
}

fn holder(lock: &File) -> String {
    let mut bytes = [0; HOLDER_LENGTH];
    let length = lock.read_at(&mut bytes, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..length]);
    match text.trim().split_once(' ') {
        Some((pid, purpose)) if pid.parse::<u32>().is_ok() => {
            format!("process {pid} ({})", purpose.escape_debug())
        }
        _ => "an unknown process".to_owned(),
    }
}

/// Keeps `git status` clean without changing the project's own files.
pub(crate) fn ignore_in_git(tree: &OwnedFd, tree_path: &Path) -> Result<(), StoreError> {
    const NAME: &str = ".gitignore";
    if statat(tree, NAME, AtFlags::SYMLINK_NOFOLLOW).is_ok() {
        return Ok(());
    }
    replace(tree, NAME, &tree_path.join(NAME), b"*\n", Durability::Flushed).map_err(|error| {
        match error {
            // The message "written" is for documents, and none has been written yet.
            StoreError::Unflushed { path, source, .. } => StoreError::io("flush", &path, source),
            error => error,
        }
    })
}

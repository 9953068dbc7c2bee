//! Files that are read whole and replaced whole, and the lock on a folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Whoever holds the lock does so for as long as it takes to write a file.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads a file; nothing if it is not there.
pub(super) fn read<Kept: DeserializeOwned>(path: &Path) -> io::Result<Option<Kept>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(named(path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| named(path, &error.into()))
}

/// Replaces a file so that a reader sees the old or the new one. When this
/// returns, the new one outlives this process and the machine.
pub(super) fn replace(path: &Path, kept: &impl Serialize) -> io::Result<()> {
    put(path, kept).map_err(|error| named(path, &error))
}

fn put(path: &Path, kept: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(kept)?;
    bytes.push(b'\n');
    let mut beside = path.as_os_str().to_owned();
    beside.push(".tmp");
    let mut file = File::create(&beside)?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Does something while nobody else does anything under this lock.
pub(super) fn locked<Got>(path: &Path, work: impl FnOnce() -> io::Result<Got>) -> io::Result<Got> {
    let open = File::options().create(true).truncate(false).write(true).open(path);
    let file = open.map_err(|error| named(path, &error))?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return work(),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(named(path, &io::Error::from(ErrorKind::TimedOut)));
            }
            Err(TryLockError::Error(error)) => return Err(named(path, &error)),
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

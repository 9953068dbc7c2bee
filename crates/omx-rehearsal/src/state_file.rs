//! State files, which are read and replaced as a whole, and the lock on their folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The lock is held only while one file is written.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// Reads a file. A missing file is `None`.
pub(super) fn read<State: DeserializeOwned>(path: &Path) -> io::Result<Option<State>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(with_path(path, &error)),
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| with_path(path, &error.into()))
}

/// Replaces a file atomically. When this returns, the new content survives a
/// crash of the process and of the machine.
pub(super) fn replace(path: &Path, state: &impl Serialize) -> io::Result<()> {
    write_and_rename(path, state).map_err(|error| with_path(path, &error))
}

fn write_and_rename(path: &Path, state: &impl Serialize) -> io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(state)?;
    bytes.push(b'\n');
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    // Nothing is written through a link: the file is always a new one.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&temporary)?;
    file.write_all(&bytes)?;
    file.sync_data()?;
    fs::rename(&temporary, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Runs a function while holding the lock.
pub(super) fn with_lock<Output>(
    path: &Path,
    work: impl FnOnce() -> io::Result<Output>,
) -> io::Result<Output> {
    let open = File::options().create(true).truncate(false).write(true).mode(0o600).open(path);
    let file = open.map_err(|error| with_path(path, &error))?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match file.try_lock() {
            Ok(()) => return work(),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(with_path(path, &io::Error::from(ErrorKind::TimedOut)));
            }
            Err(TryLockError::Error(error)) => return Err(with_path(path, &error)),
        }
    }
}

fn with_path(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

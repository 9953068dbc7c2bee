//! Changes a file of the person, such as their configuration: as a whole or not at all, and
//! one change at a time.
//!
//! No project's lock covers such a file. The temporary file is the lock: a process that
//! has locked it, and still finds it under its name, is the only writer.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, OFlags, fstat, openat, renameat, statat, unlinkat};

use crate::dir::FILE_MODE;
use crate::error::StoreError;
use crate::flush::{flush_all, flush_data};
use crate::tree::open_plain;

const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// Changes a text file, which need not exist yet. A link stays a link. Nothing is written
/// if `change` fails.
pub fn change_file<E: From<StoreError>>(
    path: &Path,
    deadline: Duration,
    change: impl FnOnce(&str) -> Result<String, E>,
) -> Result<(), E> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let fail = |error: std::io::Error| StoreError::io("write", path, error);
    let (Some(parent), Some(name)) = (real.parent(), real.file_name().and_then(|n| n.to_str()))
    else {
        return Err(fail(std::io::ErrorKind::InvalidInput.into()).into());
    };
    DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(fail)?;
    let folder = open_plain(parent)?.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
    let temporary = format!(".{name}.tmp");
    let file = lock_temporary(&folder, &temporary, path, deadline)?;
    let changed = read_old(&real)
        .map_err(|error| StoreError::io("read", path, error).into())
        .and_then(|(old, permissions)| Ok((change(&old)?, permissions)))
        .and_then(|(text, permissions)| {
            let written = write(&file, &text, permissions)
                .and_then(|()| Ok(renameat(&folder, &temporary, &folder, name)?));
            written.map_err(|error| fail(error).into())
        });
    if changed.is_err() {
        // If this fails too, the next change overwrites the file.
        let _ = unlinkat(&folder, temporary.as_str(), AtFlags::empty());
        return changed;
    }
    flush_all(&folder).map_err(|error| {
        StoreError::Unflushed { done: "written", path: path.to_owned(), source: error }.into()
    })
}

/// Creates the temporary file and locks it.
fn lock_temporary(
    folder: &OwnedFd,
    temporary: &str,
    path: &Path,
    deadline: Duration,
) -> Result<File, StoreError> {
    let fail = |error: std::io::Error| StoreError::io("write", path, error);
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let start = Instant::now();
    loop {
        let file = File::from(
            openat(folder, temporary, flags, FILE_MODE).map_err(|error| fail(error.into()))?,
        );
        match file.try_lock() {
            Ok(()) => {
                let ours = fstat(&file).map_err(|error| fail(error.into()))?;
                let there = statat(folder, temporary, AtFlags::SYMLINK_NOFOLLOW);
                if there.is_ok_and(|there| there.st_ino == ours.st_ino) {
                    return Ok(file);
                }
                // It became the file itself, or was removed, while this process waited.
            }
            Err(TryLockError::WouldBlock) if start.elapsed() < deadline => {
                std::thread::sleep(BETWEEN_TRIES);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { path: path.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        }
    }
}

fn read_old(path: &Path) -> std::io::Result<(String, Option<Permissions>)> {
    match fs::read_to_string(path) {
        Ok(text) => Ok((text, Some(fs::metadata(path)?.permissions()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((String::new(), None)),
        Err(error) => Err(error),
    }
}

fn write(mut file: &File, text: &str, permissions: Option<Permissions>) -> std::io::Result<()> {
    file.set_len(0)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    file.write_all(text.as_bytes())?;
    flush_data(file)
}

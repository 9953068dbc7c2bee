//! Opens folders and files one name at a time, and never follows a link.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use omx_kernel::Timestamp;
use omx_process::platform::directory_names;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, statat};
use rustix::io::{Errno, retry_on_intr};
use rustix::path::Arg;

use crate::error::StoreError;
use crate::flush::flush_all;

/// Only the owner may use a folder of omx.
pub(crate) const FOLDER_MODE: Mode = Mode::RWXU;
/// Only the owner may use a file of omx.
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Opens a folder inside an open one. `None` if it does not exist.
pub(crate) fn open(
    parent: impl AsFd,
    name: impl Arg + Copy,
    path: &Path,
) -> Result<Option<OwnedFd>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&parent, name, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::LOOP | Errno::NOTDIR) => Err(refused(parent, name, path)),
        Err(error) => Err(StoreError::io("open", path, error)),
    }
}

/// Opens a folder inside an open one, and creates it if it does not exist. A new name is
/// flushed; otherwise a power loss could take the documents in the folder with it.
pub(crate) fn open_or_make(
    parent: impl AsFd,
    name: &str,
    path: &Path,
) -> Result<OwnedFd, StoreError> {
    if let Some(fd) = open(&parent, name, path)? {
        return Ok(fd);
    }
    match mkdirat(&parent, name, FOLDER_MODE) {
        Ok(()) => flush_all(&parent)
            .map_err(|error| StoreError::io("flush the folder of", path, error))?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(StoreError::io("make the folder", path, error)),
    }
    open(&parent, name, path)?
        .ok_or_else(|| StoreError::io("open", path, std::io::ErrorKind::NotFound))
}

/// The contents of a file and when it last changed.
pub(crate) struct FileRead {
    pub bytes: Vec<u8>,
    pub modified: Timestamp,
}

/// Reads a regular file inside an open folder. `None` if it does not exist.
pub(crate) fn read(
    parent: impl AsFd,
    name: &str,
    path: &Path,
    most: usize,
) -> Result<Option<FileRead>, StoreError> {
    // Without NONBLOCK, opening a pipe would block.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match openat(&parent, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::NXIO | Errno::NODEV) => return Err(refused(parent, name, path)),
        Err(error) => return Err(StoreError::io("open", path, error)),
    };
    let stat = fstat(&fd).map_err(|error| StoreError::io("look at", path, error))?;
    if let Some(what) = not_a_file(&stat) {
        return Err(StoreError::Unsafe { path: path.to_owned(), what });
    }
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if size > most {
        return Err(StoreError::TooLarge { what: format!("{} has {size} bytes", path.display()) });
    }
    let bytes = read_bytes(File::from(fd), size, most)
        .map_err(|error| StoreError::io("read", path, error))?;
    let modified =
        stat.st_mtime * 1_000 + i64::try_from(stat.st_mtime_nsec / 1_000_000).unwrap_or(0);
    Ok(Some(FileRead { bytes, modified: Timestamp::from_millis(modified) }))
}

/// Reads a regular file of which `size` bytes are expected, and at most one byte more
/// than `most`.
fn read_bytes(file: File, size: usize, most: usize) -> std::io::Result<Vec<u8>> {
    // With room for one byte more, a read of exactly the expected size has seen the end:
    // documents are replaced as a whole and do not grow.
    let mut bytes = vec![0; size + 1];
    let length = retry_on_intr(|| rustix::io::read(&file, &mut bytes))?;
    bytes.truncate(length);
    if length != size {
        let left = (most + 1).saturating_sub(length);
        file.take(left as u64).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Opens a regular file inside an open folder, and creates it if the flags say so.
/// `None` if it does not exist.
pub(crate) fn open_file(
    parent: impl AsFd,
    name: &str,
    path: &Path,
    flags: OFlags,
) -> Result<Option<File>, StoreError> {
    let mode = if flags.contains(OFlags::CREATE) { FILE_MODE } else { Mode::empty() };
    // Without NONBLOCK, opening a pipe would block.
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = match openat(&parent, name, flags, mode) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::NODEV) => {
            return Err(refused(parent, name, path));
        }
        Err(error) => return Err(StoreError::io("open", path, error)),
    };
    match fstat(&fd) {
        Ok(stat) if not_a_file(&stat).is_none() => Ok(Some(File::from(fd))),
        Ok(_) => Err(refused(parent, name, path)),
        Err(error) => Err(StoreError::io("look at", path, error)),
    }
}

/// The names in a folder, without `.` and `..`.
pub(crate) fn names(folder: impl AsFd, path: &Path) -> Result<Vec<String>, StoreError> {
    names_as(folder, path, |name| Some(name.to_owned()))
}

/// What `parse` makes of the names in a folder, without `.` and `..`.
pub(crate) fn names_as<T>(
    folder: impl AsFd,
    path: &Path,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Vec<T>, StoreError> {
    // A name that is not UTF-8 is not a name of omx.
    directory_names(folder, |name| parse(name.to_str().ok()?))
        .map_err(|error| StoreError::io("list", path, error))
}

/// The same, including names that are not UTF-8.
pub(crate) fn raw_names(folder: impl AsFd, path: &Path) -> Result<Vec<CString>, StoreError> {
    directory_names(folder, |name| Some(name.to_owned()))
        .map_err(|error| StoreError::io("list", path, error))
}

/// The error for something that is neither a regular file nor a folder.
pub(crate) fn refused(parent: impl AsFd, name: impl Arg, path: &Path) -> StoreError {
    let what = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok().map_or(
        "of an unexpected type",
        |stat| match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => "a file instead of a folder",
            _ => not_a_file(&stat).unwrap_or("of an unexpected type"),
        },
    );
    StoreError::Unsafe { path: path.to_owned(), what }
}

fn not_a_file(stat: &Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Symlink => Some("a symbolic link"),
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        _ => Some("a device"),
    }
}

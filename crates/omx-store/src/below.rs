//! Changes files of a project: every component of a path is opened by itself and no link
//! is followed, so nothing outside the project is written.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, Mode, OFlags, fchmod, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::dir::{open, open_file};
use crate::error::StoreError;
use crate::flush::{flush_all, flush_data};
use crate::tree::open_plain;

/// The mode of a new folder, before the umask: it is the project's, not omx's.
const FOLDER_MODE: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
/// The mode of a new file, before the umask.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);

/// Changes a text file below a folder, which need not exist yet. `change` gets the old
/// text, and what it returns replaces it; `None` removes the file.
pub fn change_file_below<E: From<StoreError>>(
    root: &Path,
    path: &Path,
    change: impl FnOnce(Option<&str>) -> Result<Option<String>, E>,
) -> Result<(), E> {
    let (folder, name) = open_parent(root, path)?;
    let fail = |error: std::io::Error| StoreError::io("write", path, error);
    let flags = OFlags::RDONLY;
    let old = match open_file(&folder, name, path, flags)? {
        None => None,
        Some(mut file) => {
            let mode = file.metadata().map_err(fail)?.permissions();
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(|error| StoreError::io("read", path, error))?;
            Some((text, mode))
        }
    };
    let new = change(old.as_ref().map(|(text, _)| text.as_str()))?;
    let Some(new) = new else {
        match unlinkat(&folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(fail(error.into()).into()),
        }
        return flush_all(&folder).map_err(|error| fail(error).into());
    };
    let temporary = format!(".{name}.tmp");
    let write = || -> std::io::Result<()> {
        let _ = unlinkat(&folder, temporary.as_str(), AtFlags::empty());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, temporary.as_str(), flags, FILE_MODE)?);
        if let Some((_, mode)) = &old {
            use std::os::unix::fs::PermissionsExt;
            fchmod(&file, Mode::from_raw_mode(mode.mode() & 0o7777))?;
        }
        std::io::Write::write_all(&mut file, new.as_bytes())?;
        flush_data(&file)?;
        Ok(renameat(&folder, temporary.as_str(), &folder, name)?)
    };
    if let Err(error) = write() {
        let _ = unlinkat(&folder, temporary.as_str(), AtFlags::empty());
        return Err(fail(error).into());
    }
    flush_all(&folder).map_err(|error| fail(error).into())
}

/// Opens the folder of a path, and creates what is missing of it.
fn open_parent<'a>(root: &Path, path: &'a Path) -> Result<(OwnedFd, &'a str), StoreError> {
    let wrong = || StoreError::io("write", path, std::io::ErrorKind::InvalidInput);
    let relative = path.strip_prefix(root).map_err(|_| wrong())?;
    let name = relative.file_name().and_then(|name| name.to_str()).ok_or_else(wrong)?;
    let mut folder = open_plain(root)?.ok_or_else(wrong)?;
    let mut here = root.to_owned();
    for component in relative.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(part) = component else { return Err(wrong()) };
        here.push(part);
        folder = match open(&folder, part, &here)? {
            Some(inner) => inner,
            None => {
                match mkdirat(&folder, part, FOLDER_MODE) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(StoreError::io("make the folder", &here, error)),
                }
                open(&folder, part, &here)?.ok_or_else(wrong)?
            }
        };
    }
    Ok((folder, name))
}

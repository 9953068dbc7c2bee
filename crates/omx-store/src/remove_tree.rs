//! Removes folders whatever a program made of them: read-only or closed folders, and
//! folders nested deeper than a path can be long or than a process can have files open.

use std::ffi::{CStr, OsStr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, chmodat, fchmod, fstat, openat, openat2, renameat,
    unlinkat,
};
use rustix::io::Errno;

use crate::dir::{FOLDER_MODE, raw_names};
use crate::error::StoreError;

/// Removes a folder with everything in it, if it is there. Links are removed, never
/// followed, and no file system that is mounted inside is entered.
pub fn remove_tree(path: &Path) -> Result<(), StoreError> {
    let fail = |error| StoreError::io("remove", path, error);
    let Some((parent, name)) = path.parent().zip(path.file_name()) else { return Ok(()) };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = match openat(CWD, parent, flags, Mode::empty()) {
        Ok(parent) => parent,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(fail(error)),
    };
    let name = std::ffi::CString::new(name.as_bytes()).map_err(|_| fail(Errno::INVAL))?;
    let removed = match open_for_removal(parent.as_fd(), &name) {
        Ok(folder) => {
            remove_contents(&folder, path)?;
            unlinkat(&parent, name, AtFlags::REMOVEDIR)
        }
        Err(Errno::NOTDIR | Errno::LOOP) => unlinkat(&parent, name, AtFlags::empty()),
        Err(error) => Err(error),
    };
    match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(failure(path, error)),
    }
}

/// Removes everything inside a folder. Links are removed, never followed.
///
/// A folder that holds folders is not entered any deeper: they are moved up first. So two
/// folders are open at a time, and no path grows.
pub(crate) fn remove_contents(folder: impl AsFd, path: &Path) -> Result<(), StoreError> {
    let top = folder.as_fd();
    let mut moved = 0_u64;
    loop {
        let names = raw_names(top, path)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            let fail = |error| failure(&path, error);
            match open_for_removal(top, &name) {
                Ok(inner) => {
                    empty_into(&inner, top, &path, &mut moved)?;
                    unlinkat(top, &name, AtFlags::REMOVEDIR).map_err(fail)?;
                }
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    unlinkat(top, &name, AtFlags::empty()).map_err(fail)?;
                }
                // Somebody else removed it.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(fail(error)),
            }
        }
    }
}

/// Empties a folder: folders in it are moved to the top, everything else is removed.
fn empty_into(
    folder: &OwnedFd,
    top: BorrowedFd<'_>,
    path: &Path,
    moved: &mut u64,
) -> Result<(), StoreError> {
    for name in raw_names(folder, path)? {
        let fail = |error| {
            let path = path.join(OsStr::from_bytes(name.to_bytes()));
            failure(&path, error)
        };
        match unlinkat(folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            // What unlinking a folder answers depends on the system.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(fail(error)),
        }
        // To move a folder, one must be able to write it.
        drop(open_for_removal(folder.as_fd(), &name).map_err(fail)?);
        loop {
            *moved += 1;
            let to = format!(".removed-{moved}");
            match renameat(folder, &name, top, to.as_str()) {
                Ok(()) => break,
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                Err(error) => return Err(fail(error)),
            }
        }
    }
    Ok(())
}

fn failure(path: &Path, error: Errno) -> StoreError {
    match error {
        Errno::XDEV => StoreError::Unsafe { path: path.to_owned(), what: "a mount point" },
        error => StoreError::io("remove", path, error),
    }
}

/// Opens a folder, and makes it writable before. One in which another file system begins is
/// refused as [`Errno::XDEV`].
fn open_for_removal(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
    let open = || match openat2(parent, name, flags, Mode::empty(), ResolveFlags::NO_XDEV) {
        // An old kernel, or a filter that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => openat(parent, name, flags, Mode::empty()),
        opened => opened,
    };
    let fd = match open() {
        Err(Errno::ACCESS) => {
            // It is a folder: a link is refused with another error.
            chmodat(parent, name, FOLDER_MODE, AtFlags::empty())?;
            open()?
        }
        opened => opened?,
    };
    let is_closed = fstat(&fd).is_ok_and(|stat| stat.st_mode & 0o700 != 0o700);
    if is_closed {
        fchmod(&fd, FOLDER_MODE)?;
    }
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn folders_deeper_than_any_path_and_closed_ones_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let outside = folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "").unwrap();
        symlink(&outside, tree.join("link")).unwrap();
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mut at = openat(CWD, &tree, flags, Mode::empty()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "dddddddddd", FOLDER_MODE).unwrap();
            at = openat(&at, "dddddddddd", flags, Mode::empty()).unwrap();
        }
        drop(at);
        // A folder that has the name of a moved one.
        fs::create_dir_all(tree.join(".removed-1/a/b")).unwrap();
        fs::write(tree.join(".removed-2"), "").unwrap();
        fs::create_dir_all(tree.join("closed/inner/deep")).unwrap();
        fs::write(tree.join("closed/inner/file"), "").unwrap();
        for (name, mode) in [("closed/inner", 0o000), ("closed", 0o500)] {
            fs::set_permissions(tree.join(name), Permissions::from_mode(mode)).unwrap();
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert!(outside.join("kept").exists(), "a link was followed");
        remove_tree(&tree).unwrap();
    }
}

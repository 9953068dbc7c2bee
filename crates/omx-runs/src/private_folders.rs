//! The private folders of a run: temporary files and caches that its agents and checks
//! may change, and that nobody else uses.
//!
//! They lie outside the project, because compilers and test tools search the folders
//! above for projects. A killed run leaves them behind; the next one removes them, as
//! their lock is free then.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use omx_store::remove_tree;
use rustix::process::getuid;

/// The lock of a folder, held as long as it is in use. Beside what agents may change.
const LOCK: &str = "lock";
/// What agents may change.
const CONTENT: &str = "files";
/// The socket on which omx hears its agents.
const RELAY: &str = "relay";
/// How many other names to try if somebody else has taken a folder's name.
const MAX_BESIDE: usize = 9;

/// Where private folders are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivatePlaces {
    /// For temporary files. Short, because sockets in it have short paths.
    pub temporary: PathBuf,
    /// For caches, which can be large.
    pub caches: PathBuf,
}

/// The private folders of a run. Dropping it removes them.
#[derive(Debug)]
pub struct PrivateFolders {
    temporary: LockedFolder,
    caches: LockedFolder,
}

impl PrivateFolders {
    /// Makes the folders, and removes those of runs that were killed.
    pub fn create(places: &PrivatePlaces, name: &str) -> io::Result<Self> {
        let temporary = LockedFolder::create(&places.temporary, name)?;
        let caches = LockedFolder::create(&places.caches, name)?;
        Ok(Self { temporary, caches })
    }

    /// The folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.temporary.content()
    }

    /// The folder for caches.
    pub fn caches(&self) -> PathBuf {
        self.caches.content()
    }

    /// Where omx listens for its agents. They cannot replace it.
    pub fn relay(&self) -> PathBuf {
        self.temporary.path.join(RELAY)
    }
}

/// One folder, which this process holds.
#[derive(Debug)]
struct LockedFolder {
    path: PathBuf,
    _lock: File,
}

impl LockedFolder {
    /// Somebody else may have made the place beforehand, since temporary folders are open
    /// to all. Then the run uses one beside it.
    fn create(place: &Path, name: &str) -> io::Result<Self> {
        let taken = match Self::create_in(place, name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => error,
            settled => return settled,
        };
        let beside = (1..=MAX_BESIDE).map(|number| {
            let mut path = place.as_os_str().to_owned();
            path.push(format!("-{number}"));
            Self::create_in(Path::new(&path), name)
        });
        beside.into_iter().find_map(Result::ok).ok_or(taken)
    }

    /// Another run that ends may remove the place in between, so this tries more than once.
    fn create_in(place: &Path, name: &str) -> io::Result<Self> {
        let mut attempts = (0..10).map(|_| Self::try_create(place, name));
        let is_settled = |result: &io::Result<Self>| !matches!(result, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let settled = attempts.find(is_settled);
        settled.unwrap_or_else(|| Err(io::Error::from(io::ErrorKind::NotFound)))
    }

    fn try_create(place: &Path, name: &str) -> io::Result<Self> {
        make_own(place)?;
        // One at a time: a folder is swept only if its lock is free, and a new one gets its
        // lock a moment after it exists.
        let gate = File::open(place)?;
        gate.lock()?;
        sweep(place);
        // The same run may have been here before.
        for number in 0..100 {
            let path =
                place.join(if number == 0 { name.to_owned() } else { format!("{name}-{number}") });
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let lock = File::create_new(path.join(LOCK))?;
            lock.lock()?;
            DirBuilder::new().mode(0o700).create(path.join(CONTENT))?;
            // The folder may be reached through a link, which rules do not see.
            let path = path.canonicalize()?;
            return Ok(Self { path, _lock: lock });
        }
        Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!("{}: every name is taken", place.display()),
        ))
    }

    fn content(&self) -> PathBuf {
        self.path.join(CONTENT)
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        remove_all(&self.path);
        // Succeeds only if no other run uses the place.
        let _ = self.path.parent().map(fs::remove_dir);
    }
}

/// Makes a folder that only this user can read and write. One that somebody else made
/// beforehand, and a link, is refused as [`io::ErrorKind::PermissionDenied`].
fn make_own(place: &Path) -> io::Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(place);
    let data = place.symlink_metadata().or_else(|error| made.and(Err(error)))?;
    if !data.is_dir() || data.uid() != getuid().as_raw() {
        let what = format!("{}: it belongs to somebody else", place.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    if data.mode() & 0o077 != 0 {
        fs::set_permissions(place, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Removes the folders that nobody holds. Best effort.
fn sweep(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let path = entry.path();
        // A folder without a lock was removed halfway.
        if File::open(path.join(LOCK)).map_or(true, |lock| lock.try_lock().is_ok()) {
            remove_all(&path);
        }
    }
}

/// Removes a folder, even if programs made parts of it read-only. The lock goes last.
fn remove_all(path: &Path) {
    for name in [CONTENT, RELAY] {
        let part = path.join(name);
        let _ = remove_tree(&part);
    }
    let _ = fs::remove_dir_all(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(folder: &Path) -> PrivatePlaces {
        PrivatePlaces { temporary: folder.join("t"), caches: folder.join("c") }
    }

    #[test]
    fn trust_3_0c_private_folders_are_removed_with_the_run_and_after_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        let first = PrivateFolders::create(&places, "run").unwrap();
        let second = PrivateFolders::create(&places, "run").unwrap();
        assert_ne!(first.temporary(), second.temporary());
        // As `go` leaves its modules.
        let module = first.caches().join("module");
        fs::create_dir(&module).unwrap();
        fs::write(module.join("file"), "").unwrap();
        fs::set_permissions(&module, Permissions::from_mode(0o500)).unwrap();
        drop(first);
        assert_eq!(fs::read_dir(&places.caches).unwrap().count(), 1);
        assert!(second.temporary().is_dir(), "the one in use stays");

        // A killed process: its lock is released, its folders are left.
        let killed = places.temporary.join("killed");
        fs::create_dir_all(killed.join(CONTENT)).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        let third = PrivateFolders::create(&places, "other").unwrap();
        assert!(!killed.exists());
        assert_eq!(third.temporary().metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn trust_3_0c_a_place_that_others_can_write_is_closed_or_avoided() {
        let folder = tempfile::tempdir().unwrap();
        let places = places(folder.path());
        fs::create_dir(&places.temporary).unwrap();
        fs::set_permissions(&places.temporary, Permissions::from_mode(0o777)).unwrap();
        let made = PrivateFolders::create(&places, "run").unwrap();
        assert_eq!(places.temporary.metadata().unwrap().mode() & 0o777, 0o700);
        drop(made);
        assert!(!places.caches.exists(), "the last run removes the place");
        // Somebody else's link, to a folder and to nothing.
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &places.caches).unwrap();
        std::os::unix::fs::symlink("nowhere", &places.temporary).unwrap();
        let made = PrivateFolders::create(&places, "run").unwrap();
        assert!(made.caches().starts_with(folder.path().join("c-1")), "{made:?}");
        assert!(made.temporary().starts_with(folder.path().join("t-1")), "{made:?}");
        drop(made);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        for number in 1..=MAX_BESIDE {
            fs::write(folder.path().join(format!("t-{number}")), "").unwrap();
        }
        let error = PrivateFolders::create(&places, "run").unwrap_err().to_string();
        assert!(error.ends_with("/t: it belongs to somebody else"), "{error}");
    }
}

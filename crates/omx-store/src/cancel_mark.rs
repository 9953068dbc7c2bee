//! Remembers a cancel that could not be written into the documents: the disk is full or
//! read-only, another process holds the lock, something else lies in a document's place.
//!
//! The mark is an empty file, because a full disk often has room for a name. It needs no
//! lock. Whoever uses the documents next writes the cancel first and then removes the mark.

use std::fs::DirBuilder;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use omx_kernel::{RunId, Scope, SessionId};
use rustix::fs::{AtFlags, Mode, OFlags, fstat, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::activity;
use crate::dir::{FILE_MODE, open, open_or_make};
use crate::error::StoreError;
use crate::flush::flush_all;
use crate::tree::Store;

/// The mark in a run's own folder.
const IN_RUN: &str = "cancelled";

/// Where marks may be, in the order in which a cancel tries them.
#[derive(Clone, Copy)]
enum MarkPlace<'a> {
    /// The folder of the run that the scope belongs to.
    Run,
    /// Beside the project's activity records.
    Activity,
    /// A folder of the person outside the project.
    Runtime(&'a Path),
}

impl Store {
    /// Remembers that a scope was cancelled. Returns the path of the mark, or the last
    /// reason why there is none.
    pub fn mark_cancelled(&self, scope: &Scope) -> Result<PathBuf, StoreError> {
        let mut failure = StoreError::io("mark", self.tree(), std::io::ErrorKind::NotFound);
        for place in self.mark_places() {
            match self.put_mark(place, scope) {
                Ok(Some(path)) => return Ok(path),
                Ok(None) => {}
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    /// Whether a cancel of this scope waits to be written.
    pub fn is_marked_cancelled(&self, scope: &Scope) -> bool {
        let is_there = |place| {
            self.open_place(place, scope).ok().flatten().is_some_and(|folder| {
                let name = self.mark_name(place, scope);
                statat(folder, name.as_str(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
            })
        };
        self.mark_places().any(is_there)
    }

    /// Removes the marks of a scope, after the cancel was written or because the person
    /// resumes the run.
    pub fn clear_cancel_mark(&self, scope: &Scope) -> Result<(), StoreError> {
        for place in self.mark_places() {
            // Where no folder can be opened, no mark is found either.
            let Ok(Some(folder)) = self.open_place(place, scope) else { continue };
            let name = self.mark_name(place, scope);
            let removed = match unlinkat(&folder, name.as_str(), AtFlags::empty()) {
                Err(Errno::ISDIR | Errno::PERM) => {
                    unlinkat(&folder, name.as_str(), AtFlags::REMOVEDIR)
                }
                removed => removed,
            };
            match removed {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => {
                    let path = self.place_path(place, scope).join(&name);
                    return Err(StoreError::io("remove", &path, error));
                }
            }
        }
        Ok(())
    }

    fn mark_places(&self) -> impl Iterator<Item = MarkPlace<'_>> {
        let runtime = self.runtime_folders().iter().map(|folder| MarkPlace::Runtime(folder));
        [MarkPlace::Run, MarkPlace::Activity].into_iter().chain(runtime)
    }

    /// Puts a mark; `None` if there is no such place.
    fn put_mark(&self, place: MarkPlace<'_>, scope: &Scope) -> Result<Option<PathBuf>, StoreError> {
        let Some(folder) = self.make_place(place, scope)? else { return Ok(None) };
        let name = self.mark_name(place, scope);
        let path = self.place_path(place, scope).join(&name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        match openat(&folder, name.as_str(), flags, FILE_MODE) {
            Ok(_) => {}
            Err(Errno::EXIST) => return Ok(Some(path)),
            Err(error) => return Err(StoreError::io("make", &path, error)),
        }
        // The mark holds against a killed process even where it cannot be flushed.
        let _ = flush_all(&folder);
        Ok(Some(path))
    }

    fn open_place(
        &self,
        place: MarkPlace<'_>,
        scope: &Scope,
    ) -> Result<Option<OwnedFd>, StoreError> {
        match place {
            MarkPlace::Run => match run_of(scope) {
                Some(id) => Ok(self.run(&id)?.map(|run| run.into_fd())),
                None => Ok(None),
            },
            MarkPlace::Activity => match self.read()? {
                Some(state) => open(&state.fd, activity::FOLDER, &self.place_path(place, scope)),
                None => Ok(None),
            },
            MarkPlace::Runtime(folder) => open_private(folder),
        }
    }

    fn make_place(
        &self,
        place: MarkPlace<'_>,
        scope: &Scope,
    ) -> Result<Option<OwnedFd>, StoreError> {
        match place {
            MarkPlace::Run => self.open_place(place, scope),
            MarkPlace::Activity => match self.read()? {
                Some(state) => {
                    let path = self.place_path(place, scope);
                    open_or_make(&state.fd, activity::FOLDER, &path).map(Some)
                }
                None => Ok(None),
            },
            MarkPlace::Runtime(folder) => {
                // Only the folder itself: what is above it belongs to the system or the person.
                match DirBuilder::new().mode(0o700).create(folder) {
                    Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                        Err(StoreError::io("make the folder", folder, error))
                    }
                    _ => open_private(folder),
                }
            }
        }
    }

    fn mark_name(&self, place: MarkPlace<'_>, scope: &Scope) -> String {
        let session = scope.session().map_or("_compatibility", SessionId::as_str);
        match place {
            MarkPlace::Run => IN_RUN.to_owned(),
            MarkPlace::Activity => format!("{session}.cancel"),
            MarkPlace::Runtime(_) => {
                format!("{:016x}-{session}", hash(self.tree().as_os_str().as_encoded_bytes()))
            }
        }
    }

    fn place_path(&self, place: MarkPlace<'_>, scope: &Scope) -> PathBuf {
        match place {
            MarkPlace::Run => {
                let session = scope.session().map_or("", SessionId::as_str);
                self.tree().join("runs").join(session)
            }
            MarkPlace::Activity => self.state_path().join(activity::FOLDER),
            MarkPlace::Runtime(folder) => folder.to_owned(),
        }
    }
}

fn run_of(scope: &Scope) -> Option<RunId> {
    RunId::new(scope.session()?.as_str()).ok()
}

/// Opens a folder outside the project that nobody else can use. Marks of others, in a
/// folder that is open to them, do not count.
fn open_private(path: &Path) -> Result<Option<OwnedFd>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = match openat(rustix::fs::CWD, path, flags, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(StoreError::io("open", path, error)),
    };
    let stat = fstat(folder.as_fd()).map_err(|error| StoreError::io("look at", path, error))?;
    if stat.st_uid != geteuid().as_raw() || stat.st_mode & 0o077 != 0 {
        let what = "a folder that others can use";
        return Err(StoreError::Unsafe { path: path.to_owned(), what });
    }
    Ok(Some(folder))
}

/// FNV-1a: tells projects apart in a name, nothing more.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

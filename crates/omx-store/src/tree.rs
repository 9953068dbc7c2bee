//! omx's folder for a project, and the `state` folder in it.

use std::fs::{self, DirBuilder};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use omx_kernel::SessionId;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::dir::{open, open_or_make};
use crate::error::StoreError;
use crate::project::Project;
use crate::runtime_folders::RuntimeFolders;

/// Access to a project's documents. Opens and creates nothing before it is needed.
#[derive(Clone, Debug)]
pub struct Store {
    project: Project,
    /// Folders of the person outside the project, for what the project cannot hold.
    runtime: RuntimeFolders,
}

/// The `state` folder, open.
#[derive(Debug)]
pub struct StateDir {
    pub(crate) fd: OwnedFd,
    path: PathBuf,
}

impl StateDir {
    pub(crate) fn new(fd: OwnedFd, path: PathBuf) -> Self {
        Self { fd, path }
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Store {
    /// The store of a project.
    pub fn new(project: Project) -> Self {
        Self { project, runtime: RuntimeFolders::default() }
    }

    /// The same store, with private folders of the person in which to remember a cancel
    /// that the project's own folder cannot hold.
    pub fn with_runtime_folders(self, runtime: RuntimeFolders) -> Self {
        Self { runtime, ..self }
    }

    pub(crate) fn runtime_folders(&self) -> &[PathBuf] {
        self.runtime.paths()
    }

    /// The project's root.
    pub fn root(&self) -> &Path {
        &self.project.root
    }

    /// omx's folder.
    pub fn tree(&self) -> &Path {
        &self.project.tree
    }

    /// The path of the `state` folder, which need not exist.
    pub fn state_path(&self) -> PathBuf {
        self.project.tree.join("state")
    }

    /// Whether there is anything in the place of the `state` folder.
    pub fn has_state(&self) -> bool {
        fs::symlink_metadata(self.state_path()).is_ok()
    }

    /// Opens the `state` folder for reading. `None` if it does not exist yet.
    pub fn read(&self) -> Result<Option<StateDir>, StoreError> {
        let Some(tree) = self.open_tree()? else { return Ok(None) };
        let path = self.state_path();
        Ok(open(&tree, "state", &path)?.map(|fd| StateDir::new(fd, path)))
    }

    /// Opens omx's folder for reading. `None` if it does not exist yet.
    pub(crate) fn open_tree(&self) -> Result<Option<OwnedFd>, StoreError> {
        let tree = self.tree();
        let Some((parent, name)) = parent_and_name(tree) else { return Ok(None) };
        let Some(parent) = open_plain(parent)? else { return Ok(None) };
        open(&parent, name, tree)
    }

    pub(crate) fn open_or_make_tree(&self) -> Result<OwnedFd, StoreError> {
        let tree = self.tree();
        let missing = || StoreError::NoProject { path: tree.to_owned() };
        let (parent, name) = parent_and_name(tree).ok_or_else(missing)?;
        let parent = match open_plain(parent)? {
            Some(fd) => fd,
            // A folder of the person is theirs to create.
            None if tree.starts_with(self.root()) => return Err(missing()),
            None => {
                // A folder outside the project, for the state of all projects.
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700);
                builder
                    .create(parent)
                    .map_err(|error| StoreError::io("make the folder", parent, error))?;
                open_plain(parent)?.ok_or_else(missing)?
            }
        };
        open_or_make(&parent, name, tree)
    }
}

/// Opens a folder of the person. Links in its path are theirs and are followed.
pub(crate) fn open_plain(path: &Path) -> Result<Option<OwnedFd>, StoreError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(CWD, path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(StoreError::io("open", path, error)),
    }
}

fn parent_and_name(path: &Path) -> Option<(&Path, &str)> {
    Some((path.parent()?, path.file_name()?.to_str()?))
}

/// The path of a session's folder, for messages.
pub(crate) fn session_path(state: &Path, session: &SessionId) -> PathBuf {
    state.join("sessions").join(session.as_str())
}

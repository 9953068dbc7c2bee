//! Small files in a run's folder that are neither spec nor journal: open questions and
//! their answers, and the progress that other processes follow. None of them is opened
//! through a link, and all of them are the person's alone.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use rustix::fs::{AtFlags, OFlags, unlinkat};
use rustix::io::Errno;

use super::folder::RunFolder;
use crate::dir::{self, open, open_file, open_or_make};
use crate::error::StoreError;
use crate::remove_tree::remove_contents;
use crate::replace::{Durability, replace};

impl RunFolder {
    /// Writes a file in a folder of the run as a whole. It appears under its name only
    /// when it is complete.
    pub fn write_file(&self, folder: &str, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.path().join(folder);
        let folder = open_or_make(self.fd(), folder, &path)?;
        replace(&folder, name, &path.join(name), text.as_bytes(), Durability::Relaxed)
    }

    /// Reads a file in a folder of the run. `None` if it does not exist.
    pub fn read_file(
        &self,
        folder: &str,
        name: &str,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path().join(folder);
        let Some(folder) = open(self.fd(), folder, &path)? else { return Ok(None) };
        let read = dir::read(&folder, name, &path.join(name), most)?;
        Ok(read.map(|read| read.bytes))
    }

    /// The names in a folder of the run.
    pub fn file_names(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let path = self.path().join(folder);
        match open(self.fd(), folder, &path)? {
            Some(folder) => dir::names(&folder, &path),
            None => Ok(Vec::new()),
        }
    }

    /// Removes a file in a folder of the run, if it is there.
    pub fn remove_file(&self, folder: &str, name: &str) -> Result<(), StoreError> {
        let path = self.path().join(folder);
        let Some(folder) = open(self.fd(), folder, &path)? else { return Ok(()) };
        remove(&folder, name, path.join(name), AtFlags::empty())
    }

    /// Removes a folder of the run with everything in it. Whatever else has its name is
    /// removed, never followed.
    pub fn remove_folder(&self, folder: &str) -> Result<(), StoreError> {
        let path = self.path().join(folder);
        match open(self.fd(), folder, &path) {
            Ok(None) => Ok(()),
            Ok(Some(inner)) => {
                remove_contents(&inner, &path)?;
                remove(self.fd(), folder, path, AtFlags::REMOVEDIR)
            }
            Err(_) => remove(self.fd(), folder, path, AtFlags::empty()),
        }
    }

    /// Appends to a file of the run that is for display only, so it is not flushed.
    pub fn append(&self, name: &str, text: &str) -> Result<(), StoreError> {
        let path = self.path().join(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let file = open_file(self.fd(), name, &path, flags)?;
        let Some(mut file) = file else { return Ok(()) };
        file.write_all(text.as_bytes()).map_err(|error| StoreError::io("write", &path, error))
    }

    /// Opens a file of the run for reading. `None` if it does not exist.
    pub fn open_to_read(&self, name: &str) -> Result<Option<File>, StoreError> {
        open_file(self.fd(), name, &self.path().join(name), OFlags::RDONLY)
    }
}

fn remove(
    folder: &std::os::fd::OwnedFd,
    name: &str,
    path: PathBuf,
    flags: AtFlags,
) -> Result<(), StoreError> {
    match unlinkat(folder, name, flags) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(StoreError::io("remove", &path, error)),
    }
}

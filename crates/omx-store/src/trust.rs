//! The configuration files that the person trusts: one small file each, in a folder
//! outside every project. Trust is in the content of a file, so a record holds its path
//! and the hash of what the person saw.

use std::fs::DirBuilder;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use omx_kernel::Timestamp;
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::any_path;
use crate::dir;
use crate::error::StoreError;
use crate::replace::{Durability, replace};
use crate::tree::open_plain;

const MAX_RECORD_BYTES: usize = 64 * 1024;

/// The hash of a file's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hashes a content.
    pub fn from_content(content: &[u8]) -> Self {
        Self(hex(content))
    }
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file that the person trusts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustedFile {
    /// Its path.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// The hash of the content that the person saw.
    pub sha256: ContentHash,
    /// When the person trusted it.
    pub at: Timestamp,
}

/// The folder of trusted files.
#[derive(Clone, Debug)]
pub struct TrustRecords {
    folder: PathBuf,
}

impl TrustRecords {
    /// The records in this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The record of a file; `None` if the person never trusted it.
    pub fn find(&self, path: &Path) -> Result<Option<TrustedFile>, StoreError> {
        let Some(folder) = open_plain(&self.folder)? else { return Ok(None) };
        Ok(self.read(&folder, &file_name(path)).filter(|record| record.path == path))
    }

    /// Records that the person trusts this content of a file.
    pub fn add(&self, record: &TrustedFile) -> Result<(), StoreError> {
        let fail = |error| StoreError::io("make the folder", &self.folder, error);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(fail)?;
        let folder =
            open_plain(&self.folder)?.ok_or_else(|| fail(std::io::ErrorKind::NotFound.into()))?;
        let name = file_name(&record.path);
        let path = self.folder.join(&name);
        let text =
            serde_json::to_vec(record).map_err(|error| StoreError::io("write", &path, error))?;
        replace(&folder, &name, &path, &text, Durability::Flushed)
    }

    /// Forgets a file. Returns whether it was on record.
    pub fn remove(&self, path: &Path) -> Result<bool, StoreError> {
        let Some(folder) = open_plain(&self.folder)? else { return Ok(false) };
        let name = file_name(path);
        match unlinkat(&folder, name.as_str(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(StoreError::io("remove", &self.folder.join(name), error)),
        }
    }

    /// All trusted files, by path.
    pub fn all(&self) -> Result<Vec<TrustedFile>, StoreError> {
        let Some(folder) = open_plain(&self.folder)? else { return Ok(Vec::new()) };
        let names = dir::names(&folder, &self.folder)?;
        let mut records: Vec<TrustedFile> =
            names.iter().filter_map(|name| self.read(&folder, name)).collect();
        records.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(records)
    }

    /// Reads a record; `None` for anything else, which grants nothing.
    fn read(&self, folder: &OwnedFd, name: &str) -> Option<TrustedFile> {
        let path = self.folder.join(name);
        let file = dir::read(folder, name, &path, MAX_RECORD_BYTES).ok()??;
        let record: TrustedFile = serde_json::from_slice(&file.bytes).ok()?;
        (file_name(&record.path) == name).then_some(record)
    }
}

fn file_name(path: &Path) -> String {
    format!("{}.json", hex(path.as_os_str().as_encoded_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_2_1_a_record_is_of_one_path_and_one_content() {
        let folder = tempfile::tempdir().unwrap();
        let records = TrustRecords::new(folder.path().join("trust"));
        let path = Path::new("/p/config.json");
        assert_eq!(records.find(path).unwrap(), None);
        let at = Timestamp::from_millis(1);
        let record =
            TrustedFile { path: path.to_owned(), sha256: ContentHash::from_content(b"a"), at };
        records.add(&record).unwrap();
        assert_eq!(records.find(path).unwrap().as_ref(), Some(&record));
        assert_ne!(ContentHash::from_content(b"b"), record.sha256);
        assert_eq!(records.find(Path::new("/q/config.json")).unwrap(), None);
        // A record that was copied to another name is none.
        let names = std::fs::read_dir(folder.path().join("trust")).unwrap();
        let name = names.map(|entry| entry.unwrap().path()).next().unwrap();
        std::fs::copy(&name, folder.path().join("trust").join(file_name(Path::new("/q")))).unwrap();
        assert_eq!(records.all().unwrap(), [record]);
        assert!(records.remove(path).unwrap());
        assert!(!records.remove(path).unwrap());
        assert_eq!(records.find(path).unwrap(), None);
    }
}

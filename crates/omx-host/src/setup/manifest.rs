//! The manifest: what omx wrote, and where. It is written before the files it
//! describes, so that uninstall can remove everything omx wrote.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::fragment::Fragment;
use omx_kernel::HostKind;

/// The format version this program writes.
const VERSION: u32 = 1;

/// What omx wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The format version.
    pub version: u32,
    /// The program the hosts call.
    pub omx: PathBuf,
    /// The version of omx that wrote it.
    pub omx_version: String,
    /// The files with omx's fragments.
    pub files: Vec<FileRecord>,
    /// The folders omx created, outermost first.
    pub folders: Vec<PathBuf>,
    /// Set while files are being changed. If it is still set, a change was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
}

/// What a file was before omx changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileOrigin {
    /// It did not exist.
    Absent,
    /// It held only this white space.
    Blank(String),
    /// Its content had this hash.
    Content(String),
}

/// What omx wrote into one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// The file.
    pub path: PathBuf,
    /// The host.
    #[serde(with = "host_name")]
    pub host: HostKind,
    /// What it was before.
    pub origin: FileOrigin,
    /// The hash of the content omx wrote.
    pub after: String,
    /// The fragments, in the order of insertion.
    pub parts: Vec<Fragment>,
    /// Fragments from before a change that may have been interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Fragment>,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A newer omx wrote it.
    #[error("{path}: written by a newer version (format {version}); use that one")]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its format version.
        version: u32,
    },
    /// It cannot be read.
    #[error("{path}: {why}")]
    Unreadable {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

impl Manifest {
    /// An empty manifest.
    pub fn new(omx: &Path, omx_version: &str) -> Self {
        Self {
            version: VERSION,
            omx: omx.to_owned(),
            omx_version: omx_version.to_owned(),
            files: Vec::new(),
            folders: Vec::new(),
            unfinished: false,
        }
    }

    /// Reads the manifest at this path; `None` if there is none.
    pub fn load(path: &Path) -> Result<Option<Self>, ManifestError> {
        let fail = |why: String| ManifestError::Unreadable { path: path.to_owned(), why };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(fail(error.to_string())),
        };
        // Created but not written: the process that created it changed no file.
        if text.is_empty() {
            return Ok(None);
        }
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let head: Head = serde_json::from_str(&text).map_err(|error| fail(error.to_string()))?;
        if head.version > VERSION {
            return Err(ManifestError::Newer { path: path.to_owned(), version: head.version });
        }
        serde_json::from_str(&text).map(Some).map_err(|error| fail(error.to_string()))
    }

    /// The record of a file.
    pub fn file(&self, path: &Path) -> Option<&FileRecord> {
        self.files.iter().find(|record| record.path == path)
    }

    /// Whether it records nothing.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folders.is_empty()
    }

    /// The hosts it records.
    pub fn hosts(&self) -> Vec<HostKind> {
        let mut hosts: Vec<HostKind> = self.files.iter().map(|record| record.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}

/// Serializes a host as its name.
mod host_name {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::HostKind;

    pub fn serialize<S: Serializer>(host: &HostKind, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(host.as_str())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<HostKind, D::Error> {
        let name = String::deserialize(from)?;
        HostKind::parse(&name).ok_or_else(|| D::Error::custom(format!("unknown host {name:?}")))
    }
}

//! What planning may see of the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Reading, as planning needs it.
pub trait SetupDisk {
    /// The text of a file; `None` if there is none; a sentence why it cannot be used.
    fn read(&self, path: &Path) -> Result<Option<String>, String>;
    /// Where a file really is: links followed, also one that leads to nothing.
    fn real(&self, path: &Path) -> PathBuf;
    /// Whether there is a folder.
    fn is_folder(&self, path: &Path) -> bool;
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

/// More than any configuration; a file beyond it is none.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

impl SetupDisk for RealDisk {
    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if !data.is_file() {
            return Err("it is not a file".to_owned());
        }
        if data.len() > MAX_BYTES {
            return Err("it is too large".to_owned());
        }
        match fs::read(path) {
            Ok(bytes) => {
                String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn real(&self, path: &Path) -> PathBuf {
        let mut path = path.to_owned();
        // As many links as the system follows.
        for _ in 0..40 {
            if let Ok(real) = fs::canonicalize(&path) {
                return real;
            }
            let Ok(target) = fs::read_link(&path) else { break };
            path = path.parent().unwrap_or(Path::new("/")).join(target);
        }
        match (path.parent().map(fs::canonicalize), path.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => path,
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }
}

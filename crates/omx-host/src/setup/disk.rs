//! What planning may read from the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Read access for planning.
pub trait SetupDisk {
    /// Reads a file: its text, `None` if it does not exist, or why it cannot be used.
    fn read(&self, path: &Path) -> Result<Option<String>, String>;
    /// Resolves links, including one whose target does not exist.
    fn real(&self, path: &Path) -> PathBuf;
    /// The first link on the way from a folder to a path below it, or the path itself.
    fn find_link(&self, root: &Path, path: &Path) -> Option<PathBuf>;
    /// Whether a folder exists.
    fn is_folder(&self, path: &Path) -> bool;
}

/// The file system.
#[derive(Clone, Copy, Debug)]
pub struct RealDisk;

/// The most bytes of a configuration file.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

impl SetupDisk for RealDisk {
    fn read(&self, path: &Path) -> Result<Option<String>, String> {
        let data = match fs::metadata(path) {
            Ok(data) => data,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        if !data.is_file() {
            return Err("not a regular file".to_owned());
        }
        if data.len() > MAX_BYTES {
            return Err("larger than 64 MiB".to_owned());
        }
        match fs::read(path) {
            Ok(bytes) => {
                String::from_utf8(bytes).map(Some).map_err(|_| "not UTF-8 text".to_owned())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn real(&self, path: &Path) -> PathBuf {
        let mut path = path.to_owned();
        // The system follows no more links either.
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

    fn find_link(&self, root: &Path, path: &Path) -> Option<PathBuf> {
        let mut parts: Vec<&Path> =
            path.ancestors().take_while(|part| part.starts_with(root) && *part != root).collect();
        parts.reverse();
        let is_link = |part: &&Path| fs::symlink_metadata(part).is_ok_and(|it| it.is_symlink());
        parts.into_iter().find(is_link).map(Path::to_owned)
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }
}

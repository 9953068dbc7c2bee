//! Makes a commit survive a power cut before anything speaks of it. git flushes the files
//! that it writes, but neither their names nor objects that an earlier call left unflushed.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::error::GitError;
use super::names::{BranchName, CommitId};
use super::place::Checkout;

impl Checkout {
    /// Flushes a new commit: its objects, its branch, and the files that it contains.
    pub(super) fn flush_commit(
        &self,
        branch: &BranchName,
        parent: &CommitId,
        commit: &CommitId,
    ) -> Result<(), GitError> {
        let without = format!("^{parent}");
        let list = ["rev-list", "--objects", "--no-object-names", commit.as_str(), &without];
        let output = self.call(&list).output()?;
        let objects = self.common_dir().join("objects");
        let mut folders = BTreeSet::from([objects.clone()]);
        for id in String::from_utf8_lossy(&output).lines() {
            let Some((folder, name)) = id.split_at_checked(2) else { continue };
            let folder = objects.join(folder);
            // An object that is not here is in a pack, or in another repository.
            if flush(&folder.join(name))? {
                folders.insert(folder);
            }
        }
        let reference = self.common_dir().join(branch.reference());
        if flush(&reference)? {
            folders.extend(parents(&reference, self.common_dir()));
        }
        for file in self.changes(parent, commit)?.files {
            let file = self.top().join(file.path);
            let is_file = file.symlink_metadata().is_ok_and(|found| found.is_file());
            if is_file && flush(&file)? {
                folders.extend(parents(&file, self.top()));
            }
        }
        for folder in folders {
            flush(&folder)?;
        }
        Ok(())
    }
}

/// The folders of a path, up to this one.
fn parents<'a>(path: &'a Path, top: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
    path.ancestors().skip(1).take_while(move |folder| folder.starts_with(top)).map(Path::to_owned)
}

/// Flushes a file or folder. Returns whether it exists.
fn flush(path: &Path) -> Result<bool, GitError> {
    match File::open(path) {
        Ok(file) => file.sync_all().map(|()| true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(error),
    }
    .map_err(|error| GitError::io("flush", path, error))
}

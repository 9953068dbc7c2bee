//! Stages the content of a working tree, without looking into repositories inside it.
//! git would follow such a repository's own configuration, which an agent can write.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::call::{Call, parts, path};
use super::error::GitError;
use super::names::TreeId;
use super::place::Checkout;

/// The mode of a submodule in the index.
const GITLINK: &[u8] = b"160000 ";

impl Checkout {
    /// Stages everything that is not ignored, in this index or that of the checkout, and
    /// returns the hash of the content. Refuses a repository inside the working tree that
    /// is not one of its submodules; submodules stay as they are in the index.
    pub(super) fn stage_all(&self, index: Option<&Path>) -> Result<TreeId, GitError> {
        let call = |args: &[&str]| with_index(self.call(args), index);
        let folders = nested(&call(&UNTRACKED).output()?);
        if !folders.is_empty() {
            return Err(GitError::Nested { top: self.top().to_owned(), folders });
        }
        let listed = call(&["ls-files", "--stage", "-z"]).output()?;
        let mut paths = b":(top)\0".to_vec();
        for submodule in submodules(&listed) {
            paths.extend_from_slice(b":(top,exclude,literal)");
            paths.extend_from_slice(submodule.as_bytes());
            paths.push(0);
        }
        let add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
        call(&add).input(paths).work().output()?;
        let hash = call(&["write-tree"]).work().line()?;
        TreeId::new(&hash).map_err(|refusal| GitError::Failed {
            what: "write-tree".into(),
            words: refusal.to_string(),
        })
    }
}

/// Lists untracked files. A repository is listed as a folder, which git does not enter.
const UNTRACKED: [&str; 4] = ["ls-files", "--others", "--exclude-standard", "-z"];

fn with_index<'a>(call: Call<'a>, index: Option<&Path>) -> Call<'a> {
    match index {
        Some(index) => call.env("GIT_INDEX_FILE", index),
        None => call,
    }
}

fn nested(untracked: &[u8]) -> Vec<PathBuf> {
    let folders = parts(untracked).filter(|part| part.ends_with(b"/"));
    folders.map(|folder| path(folder.strip_suffix(b"/").unwrap_or(folder))).collect()
}

fn submodules(staged: &[u8]) -> impl Iterator<Item = &OsStr> {
    let links = parts(staged).filter(|entry| entry.starts_with(GITLINK));
    links.filter_map(|entry| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        Some(OsStr::from_bytes(&entry[tab + 1..]))
    })
}

//! Stages the content of a working tree, without looking into repositories inside it.
//! git would follow such a repository's own configuration, which an agent can write.

use std::path::{Path, PathBuf};

use omx_kernel::AbsentFiles;
use omx_kernel::left_out::{LeftOutReason, NewFile, left_out};

use super::call::{Call, parts, path};
use super::error::GitError;
use super::names::TreeId;
use super::place::Checkout;

/// The mode of a submodule in the index.
const GITLINK: &[u8] = b"160000 ";

/// The content of a working tree.
pub(crate) struct StagedContent {
    pub(crate) tree: TreeId,
    /// New files that are not part of it.
    pub(crate) left_out: Vec<(String, LeftOutReason)>,
}

impl Checkout {
    /// Stages everything that is not ignored, in this index or that of the checkout, and
    /// returns the hash of the content. Leaves out new files that do not belong into a
    /// commit. Refuses a repository inside the working tree that is not one of its
    /// submodules; submodules stay as they are in the index.
    pub(super) fn stage_all(&self, index: Option<&Path>) -> Result<StagedContent, GitError> {
        let call = |args: &[&str]| with_index(self.call(args), index);
        let untracked = call(&UNTRACKED).output()?;
        let folders = nested(&untracked);
        if !folders.is_empty() {
            return Err(GitError::Nested { top: self.top().to_owned(), folders });
        }
        let left_out = self.left_out(&untracked);
        let listed = call(&["ls-files", "--stage", "-z"]).output()?;
        let mut paths = b":(top)\0".to_vec();
        let names = left_out.iter().map(|(name, _)| *name);
        for excluded in submodules(&listed).chain(names) {
            paths.extend_from_slice(b":(top,exclude,literal)");
            paths.extend_from_slice(excluded);
            paths.push(0);
        }
        let add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"];
        call(&add).input(paths).durable().work().output()?;
        let hash = call(&["write-tree"]).durable().work().line()?;
        let tree = TreeId::new(&hash).map_err(|refusal| GitError::Failed {
            what: "write-tree".into(),
            words: refusal.to_string(),
        })?;
        let shown = |(name, reason): (&[u8], _)| (path(name).display().to_string(), reason);
        Ok(StagedContent { tree, left_out: left_out.into_iter().map(shown).collect() })
    }

    /// The untracked files to leave out of a commit.
    fn left_out<'a>(&self, untracked: &'a [u8]) -> Vec<(&'a [u8], LeftOutReason)> {
        let names: Vec<&[u8]> = parts(untracked).collect();
        let texts: Vec<_> = names.iter().map(|name| String::from_utf8_lossy(name)).collect();
        let size = |name: &&[u8]| {
            let found = self.top().join(path(name)).symlink_metadata();
            found.map_or(0, |found| found.len())
        };
        let files: Vec<NewFile<'_>> = names
            .iter()
            .zip(&texts)
            .map(|(name, text)| NewFile { path: text, size: size(name) })
            .collect();
        let reasons = left_out(&files);
        names.into_iter().zip(reasons).filter_map(|(name, reason)| Some((name, reason?))).collect()
    }

    /// Whether nothing is lost with these untracked files: a tool can make them again.
    pub(super) fn are_build_outputs(&self, untracked: &[u8]) -> bool {
        let left_out = self.left_out(untracked);
        left_out.len() == parts(untracked).count()
            && left_out.iter().all(|(_, reason)| *reason == LeftOutReason::BuildOutput)
    }

    /// The untracked files that are not ignored, each with a zero byte at its end.
    pub(super) fn untracked(&self) -> Result<Vec<u8>, GitError> {
        self.call(&UNTRACKED).output()
    }

    /// Everything that is in the working tree and not in the index, ignored or not. A folder
    /// of which nothing is in the index is listed as one, with a slash at its end.
    pub(crate) fn absent_files(&self) -> Result<AbsentFiles, GitError> {
        let listed = self.call(&OTHERS).output()?;
        let names: Vec<String> =
            parts(&listed).map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        Ok(AbsentFiles::from_paths(names.iter().map(String::as_str)))
    }

    /// Gives the working tree this content. Ignored files and files that no commit would
    /// contain stay.
    pub(crate) fn restore_content(&self, tree: &TreeId) -> Result<(), GitError> {
        let index = self.copy_index()?;
        self.stage_all(Some(index.path()))?;
        let call = self.call(&["read-tree", "--reset", "-u", tree.as_str()]);
        call.env("GIT_INDEX_FILE", index.path()).work().output().map(drop)
    }
}

/// Lists untracked files. A repository is listed as a folder, which git does not enter.
const UNTRACKED: [&str; 4] = ["ls-files", "--others", "--exclude-standard", "-z"];

/// Lists everything that is not tracked. Without a rule for exclusion nothing is ignored.
const OTHERS: [&str; 5] = ["ls-files", "--others", "--directory", "--no-empty-directory", "-z"];

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

fn submodules(staged: &[u8]) -> impl Iterator<Item = &[u8]> {
    let links = parts(staged).filter(|entry| entry.starts_with(GITLINK));
    links.filter_map(|entry| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        Some(&entry[tab + 1..])
    })
}

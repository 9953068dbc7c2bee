//! The state of a checkout: what a run compares where nothing confines its agents.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use omx_kernel::checkout_state::{CheckoutState, RemoteMove};

use super::call::{parts, path};
use super::error::GitError;
use super::place::{Checkout, Head};

/// Whether the files of a checkout belong to its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateFiles {
    /// They do.
    Included,
    /// They do not: the run itself changes them.
    Left,
}

impl Checkout {
    /// Reads the state. References below `own_refs` and files below `own_folder` are
    /// omx's own and do not belong to it.
    pub fn state(
        &self,
        own_refs: &str,
        own_folder: &Path,
        files: StateFiles,
    ) -> Result<CheckoutState, GitError> {
        let now = self.reread()?;
        let mut repository = now.snapshot()?;
        repository.settings.clear();
        for (key, value) in now.settings().own() {
            repository.settings.entry(key.clone()).or_default().push(value.clone());
        }
        let head = match now.head()? {
            Head::Unborn => "a branch without commits".to_owned(),
            Head::Detached(commit) => commit.as_str().to_owned(),
            Head::Branch { name, .. } => name,
        };
        Ok(CheckoutState {
            head,
            references: now.references(own_refs)?,
            files: match files {
                StateFiles::Included => now.file_states(own_folder)?,
                StateFiles::Left => BTreeMap::new(),
            },
            repository,
        })
    }

    fn references(&self, own: &str) -> Result<BTreeMap<String, String>, GitError> {
        let format = "--format=%(refname) %(objectname)";
        let output = self.call(&["for-each-ref", format]).output()?;
        let text = String::from_utf8_lossy(&output);
        let pairs = text.lines().filter_map(|line| line.rsplit_once(' '));
        let others = pairs.filter(|(name, _)| !name.starts_with(own));
        Ok(others.map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect())
    }

    /// The files that differ from the last commit. A time of change that no program can
    /// set shows that a file was written again.
    fn file_states(&self, own: &Path) -> Result<BTreeMap<String, String>, GitError> {
        let call = self.call(&[
            "status",
            "--porcelain=v2",
            "-z",
            "--no-renames",
            "--untracked-files=all",
            "--ignore-submodules=dirty",
        ]);
        let mut states = BTreeMap::new();
        for part in parts(&call.output()?) {
            let fields = match part.first() {
                Some(b'1') => 8,
                Some(b'u') => 10,
                Some(b'?') => 1,
                _ => continue,
            };
            let mut words = part.splitn(fields + 1, |byte| *byte == b' ');
            let status: Vec<&[u8]> = words.by_ref().take(fields).collect();
            let Some(name) = words.next().map(path) else { continue };
            let file = self.top().join(&name);
            if file.starts_with(own) {
                continue;
            }
            let status = String::from_utf8_lossy(&status.join(&b' ')).into_owned();
            let found = fs::symlink_metadata(&file).map(|data| {
                format!("{:o} {} {}.{}", data.mode(), data.len(), data.ctime(), data.ctime_nsec())
            });
            let state = format!("{status} {}", found.unwrap_or_default());
            states.insert(name.to_string_lossy().into_owned(), state);
        }
        Ok(states)
    }

    /// What changed since an earlier state that was read in the same way.
    pub fn changes_since(&self, before: &CheckoutState, now: &CheckoutState) -> Vec<String> {
        let moves = now.moved_remotes(before).into_iter().map(|name| {
            let how = self.remote_move(&name, before.references.get(&name).map(String::as_str));
            (name, how)
        });
        now.changes_since(before, &moves.collect())
    }

    /// What moved a remote-tracking branch since it was at this commit, by git's own log.
    fn remote_move(&self, name: &str, before: Option<&str>) -> RemoteMove {
        let log: PathBuf = self.common_dir().join("logs").join(name);
        let Ok(text) = fs::read_to_string(log) else { return RemoteMove::Unknown };
        let mut found = RemoteMove::Unknown;
        for line in text.lines().rev() {
            let Some((ids, message)) = line.split_once('\t') else { return RemoteMove::Unknown };
            if ids.split(' ').nth(1) == before {
                break;
            }
            found = match message {
                _ if message.starts_with("update by push") => return RemoteMove::Pushed,
                _ if message.starts_with("fetch") || message.starts_with("pull") => {
                    RemoteMove::Fetched
                }
                _ => return RemoteMove::Unknown,
            };
        }
        found
    }
}

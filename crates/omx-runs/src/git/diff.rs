//! Compares two commits or trees: changed files, line counts, and a diff that is
//! short enough to show.

use std::path::PathBuf;

use super::call::{parts, path};
use super::error::GitError;
use super::names::Treeish;
use super::place::Checkout;

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedFile {
    /// It is new.
    Added,
    /// Its content or mode changed.
    Modified,
    /// It was deleted.
    Deleted,
    /// Its type changed, for example to a symbolic link or a submodule.
    Turned,
}

/// A changed file. A rename appears as a deletion and an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The path relative to the top of the checkout.
    pub path: PathBuf,
    /// How it changed.
    pub change: ChangedFile,
    /// Lines added and removed; `None` for a binary file.
    pub lines: Option<(u64, u64)>,
}

/// All changed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The files, by path.
    pub files: Vec<Difference>,
}

impl ChangeSet {
    /// The number of added lines.
    pub fn added(&self) -> u64 {
        self.files.iter().filter_map(|file| file.lines).map(|(added, _)| added).sum()
    }

    /// The number of removed lines.
    pub fn removed(&self) -> u64 {
        self.files.iter().filter_map(|file| file.lines).map(|(_, removed)| removed).sum()
    }
}

/// A diff as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// Complete lines only. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// How many bytes were cut off at the end.
    pub left_out: usize,
}

impl Checkout {
    /// Lists the changed files with their line counts.
    pub fn changes(&self, old: &impl Treeish, new: &impl Treeish) -> Result<ChangeSet, GitError> {
        let ask = |form: &str| {
            let args = ["diff-tree", "-r", "-z", "--no-renames", form, old.hash(), new.hash()];
            self.call(&args).output()
        };
        let (names, numbers) = (ask("--name-status")?, ask("--numstat")?);
        let mut names = parts(&names);
        let mut files = Vec::new();
        for line in parts(&numbers) {
            let mut fields = line.splitn(3, |byte| *byte == b'\t');
            let (added, removed) = (number(fields.next()), number(fields.next()));
            let (Some(letter), Some(name), Some(counted)) =
                (names.next(), names.next(), fields.next())
            else {
                break;
            };
            debug_assert_eq!(name, counted);
            let change = match letter.first() {
                Some(b'A') => ChangedFile::Added,
                Some(b'D') => ChangedFile::Deleted,
                Some(b'T') => ChangedFile::Turned,
                _ => ChangedFile::Modified,
            };
            files.push(Difference { path: path(name), change, lines: added.zip(removed) });
        }
        Ok(ChangeSet { files })
    }

    /// Returns the diff as text, cut to this many bytes.
    pub fn diff(
        &self,
        old: &impl Treeish,
        new: &impl Treeish,
        most: usize,
    ) -> Result<Diff, GitError> {
        let args = ["diff-tree", "-r", "-p", "--no-color", "--no-ext-diff", "--no-textconv"];
        let call = self.call(&args).arg("--no-renames").arg(old.hash()).arg(new.hash()).keep(most);
        let answer = call.answer()?;
        if answer.code != Some(0) {
            return Err(answer.refusal());
        }
        let mut kept = answer.output;
        if kept.len() < answer.output_length {
            let end = kept.iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
            kept.truncate(end);
        }
        let left_out = answer.output_length - kept.len();
        Ok(Diff { text: String::from_utf8_lossy(&kept).into_owned(), left_out })
    }
}

fn number(field: Option<&[u8]>) -> Option<u64> {
    std::str::from_utf8(field?).ok()?.parse().ok()
}

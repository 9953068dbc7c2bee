//! What differs between two commits or trees: which files, how much, and a text
//! of it that is short enough to be shown.

use std::path::PathBuf;

use super::call::{parts, path};
use super::error::GitError;
use super::names::Treeish;
use super::place::Checkout;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangedFile {
    /// It is new.
    Added,
    /// Its content or its rights changed.
    Modified,
    /// It is gone.
    Deleted,
    /// It became something else: a link, a submodule.
    Turned,
}

/// One file that differs. A renamed one is one that is gone and one that is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where, below the topmost folder.
    pub path: PathBuf,
    /// What happened to it.
    pub change: ChangedFile,
    /// Lines that came and lines that went; `None` for a file that is no text.
    pub lines: Option<(u64, u64)>,
}

/// All that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet {
    /// The files, by path.
    pub files: Vec<Difference>,
}

impl ChangeSet {
    /// Lines that came.
    pub fn added(&self) -> u64 {
        self.files.iter().filter_map(|file| file.lines).map(|(added, _)| added).sum()
    }

    /// Lines that went.
    pub fn removed(&self) -> u64 {
        self.files.iter().filter_map(|file| file.lines).map(|(_, removed)| removed).sum()
    }
}

/// A difference as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// Whole lines of it; bytes that are no text are replaced.
    pub text: String,
    /// How many bytes are left out at the end.
    pub left_out: usize,
}

impl Checkout {
    /// Which files differ, and how much.
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

    /// The difference as text, not longer than this many bytes.
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

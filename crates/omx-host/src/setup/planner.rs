//! A plan, and how it grows file by file.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::disk::SetupDisk;
use super::edit::{self, FileFormat, FragmentConflict, WholeFile};
use super::fragment::{DesiredFragment, Fragment, FragmentSlot};
use super::manifest::{FileOrigin, FileRecord, Manifest};
use super::paths::SetupPaths;
use super::text::hash;
use crate::HostKind;

/// What happens to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file.
    pub path: PathBuf,
    /// What it holds; `None`: it is not there.
    pub old: Option<String>,
    /// What it will hold; `None`: it will not be there.
    pub new: Option<String>,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupNoteKind {
    /// A file that is not touched because it cannot be used.
    Refused,
    /// Something that is not omx's stands where omx's part must be.
    Taken,
    /// The person has changed omx's part: it stays as it is.
    Edited,
    /// The person has their own: it stays.
    Theirs,
    /// Something else to know.
    Hint,
}

impl SetupNoteKind {
    /// The word programs know it by.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Taken => "taken",
            Self::Edited => "edited",
            Self::Theirs => "theirs",
            Self::Hint => "hint",
        }
    }

    /// Whether something that was asked for could not be done.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Refused | Self::Taken)
    }
}

/// Something the person should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupNote {
    /// What it is about.
    pub kind: SetupNoteKind,
    /// The file.
    pub path: PathBuf,
    /// In words.
    pub text: String,
}

/// Everything that is to be done.
#[derive(Clone, Debug)]
pub struct SetupPlan {
    /// Where the manifest is.
    pub manifest: PathBuf,
    /// The manifest that holds while files are changed: it knows the parts
    /// before and after.
    pub during: Manifest,
    /// The manifest when all is done.
    pub after: Manifest,
    /// The changes, in the order they are made.
    pub changes: Vec<FileChange>,
    /// What the person should know.
    pub notes: Vec<SetupNote>,
}

impl SetupPlan {
    /// Whether something that was asked for could not be done.
    pub fn has_failed(&self) -> bool {
        self.notes.iter().any(|note| note.kind.is_failure())
    }
}

pub(crate) struct SetupPlanner<'a> {
    pub paths: &'a SetupPaths,
    pub disk: &'a dyn SetupDisk,
    pub old: Manifest,
    after: Manifest,
    changes: Vec<FileChange>,
    notes: Vec<SetupNote>,
    seen: Vec<PathBuf>,
}

impl<'a> SetupPlanner<'a> {
    pub fn new(paths: &'a SetupPaths, disk: &'a dyn SetupDisk, old: Option<Manifest>) -> Self {
        let old = old.unwrap_or_else(|| Manifest::new(&paths.omx, &paths.version));
        let mut after = old.clone();
        after.unfinished = false;
        after.omx.clone_from(&paths.omx);
        after.omx_version.clone_from(&paths.version);
        Self { paths, disk, old, after, changes: Vec::new(), notes: Vec::new(), seen: Vec::new() }
    }

    pub fn note(&mut self, kind: SetupNoteKind, path: &Path, text: impl Into<String>) {
        self.notes.push(SetupNote { kind, path: path.to_owned(), text: text.into() });
    }

    /// Brings parts into a file; the text it will have, if that is known.
    pub fn file(
        &mut self,
        host: HostKind,
        path: &Path,
        kind: FileFormat,
        wishes: &[DesiredFragment],
    ) -> Option<String> {
        self.seen.push(path.to_owned());
        let old = self.read(path)?;
        let record = self.old.file(path).cloned();
        let done = match edit::set_up(kind, old.as_deref(), wishes, record.as_ref()) {
            Ok(done) => done,
            Err(broken) => {
                self.note(SetupNoteKind::Refused, path, broken.to_string());
                return None;
            }
        };
        for kept in done.kept {
            let (kind, text) = match kept {
                FragmentConflict::Edited(what) => {
                    (SetupNoteKind::Edited, format!("{what} was changed since omx wrote it"))
                }
                FragmentConflict::Theirs(what) => {
                    (SetupNoteKind::Theirs, format!("{what} is your own"))
                }
                FragmentConflict::Taken(what) => {
                    (SetupNoteKind::Taken, format!("{what} is there and was not written by omx"))
                }
            };
            self.note(kind, path, text);
        }
        if done.parts.is_empty() {
            self.forget(path);
        } else {
            let after = hash(done.text.as_bytes());
            self.remember(host, path, done.origin, after, done.parts);
        }
        // A file only for a seed would be nobody's wish.
        let is_needed = old.is_some() || self.after.file(path).is_some();
        let new = is_needed.then_some(done.text);
        self.change(path, old, new.clone());
        new
    }

    /// Makes a whole file omx's.
    pub fn whole(&mut self, host: HostKind, path: &Path, text: &str) {
        self.seen.push(path.to_owned());
        let Some(old) = self.read(path) else { return };
        let record = self.old.file(path).cloned();
        match edit::whole(old.as_deref(), text, record.as_ref()) {
            WholeFile::Ours(part) => {
                let origin = record.map_or(FileOrigin::Absent, |record| record.origin);
                let after = hash(text.as_bytes());
                self.remember(host, path, origin, after, vec![part]);
                self.change(path, old, Some(text.to_owned()));
            }
            WholeFile::Edited => {
                self.note(SetupNoteKind::Edited, path, "it was changed since omx wrote it");
            }
            WholeFile::Theirs => self.note(SetupNoteKind::Theirs, path, "it is your own"),
        }
    }

    /// Takes omx's parts out of a file.
    pub fn take_out(&mut self, record: &FileRecord) {
        let path = &record.path;
        let Some(old) = self.read(path) else { return };
        let is_whole = record.parts.iter().any(|part| part.slot == FragmentSlot::Whole);
        if is_whole {
            match &old {
                Some(text) if !edit::is_recorded(text, record) => {
                    self.note(
                        SetupNoteKind::Edited,
                        path,
                        "it was changed since omx wrote it; it stays",
                    );
                }
                _ => self.change(path, old, None),
            }
            self.forget(path);
            return;
        }
        let kind = kind_of(record);
        let done = match edit::take_out(kind, old.as_deref(), record) {
            Ok(done) => done,
            Err(broken) => return self.note(SetupNoteKind::Refused, path, broken.to_string()),
        };
        for part in &done.left {
            let text = format!("{} was changed since omx wrote it; it stays", name_of(part));
            self.note(SetupNoteKind::Edited, path, text);
        }
        self.forget(path);
        self.change(path, old, done.text);
    }

    /// What omx wrote for a host into its folders and does not write any more.
    pub fn take_out_rest(&mut self, host: HostKind, folders: &[&Path]) {
        let is_stale = |record: &&FileRecord| {
            record.host == host
                && !self.seen.contains(&record.path)
                && folders.iter().any(|folder| record.path.starts_with(folder))
        };
        let stale: Vec<FileRecord> = self.old.files.iter().filter(is_stale).cloned().collect();
        for record in stale {
            self.take_out(&record);
        }
    }

    /// Another host's record of the same file, reached by another name.
    pub fn is_shared(&self, host: HostKind, path: &Path) -> bool {
        let real = self.disk.real(path);
        let mut others = self.after.files.iter().filter(|record| record.host != host);
        others.any(|record| record.path != path && self.disk.real(&record.path) == real)
    }

    fn read(&mut self, path: &Path) -> Option<Option<String>> {
        match self.disk.read(path) {
            Ok(text) => Some(text),
            Err(why) => {
                self.note(SetupNoteKind::Refused, path, why);
                None
            }
        }
    }

    fn change(&mut self, path: &Path, old: Option<String>, new: Option<String>) {
        if old == new {
            return;
        }
        if old.is_none() {
            let missing =
                path.ancestors().skip(1).take_while(|folder| !self.disk.is_folder(folder));
            let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            missing.reverse();
            missing.retain(|folder| !self.after.folders.contains(folder));
            self.after.folders.extend(missing);
        }
        self.changes.push(FileChange { path: path.to_owned(), old, new });
    }

    /// The text a file has before, and the one it will have.
    pub fn texts(&self, path: &Path) -> (Option<String>, Option<String>) {
        match self.changes.iter().find(|change| change.path == path) {
            Some(change) => (change.old.clone(), change.new.clone()),
            None => {
                let text = self.disk.read(path).ok().flatten();
                (text.clone(), text)
            }
        }
    }

    /// Changes a text once more.
    pub fn rewrite(&mut self, path: &Path, new: String) {
        match self.changes.iter_mut().find(|change| change.path == path) {
            Some(change) => change.new = Some(new),
            None => {
                let (old, _) = self.texts(path);
                self.change(path, old, Some(new));
            }
        }
    }

    fn forget(&mut self, path: &Path) {
        self.after.files.retain(|record| record.path != path);
    }

    fn remember(
        &mut self,
        host: HostKind,
        path: &Path,
        origin: FileOrigin,
        after: String,
        parts: Vec<Fragment>,
    ) {
        let path = path.to_owned();
        let record = FileRecord { path, host, origin, after, parts, earlier: Vec::new() };
        match self.after.files.iter_mut().find(|known| known.path == record.path) {
            Some(known) => *known = record,
            None => self.after.files.push(record),
        }
    }

    pub fn finish(self) -> SetupPlan {
        let mut during = Manifest { unfinished: true, ..self.after.clone() };
        for old in &self.old.files {
            match during.files.iter_mut().find(|record| record.path == old.path) {
                Some(record) => {
                    let earlier = old.parts.iter().chain(&old.earlier);
                    record.earlier =
                        earlier.filter(|part| !record.parts.contains(part)).cloned().collect();
                }
                None => during.files.push(old.clone()),
            }
        }
        SetupPlan {
            manifest: self.paths.manifest(),
            during,
            after: self.after,
            changes: self.changes,
            notes: self.notes,
        }
    }
}

fn kind_of(record: &FileRecord) -> FileFormat {
    match record.parts.first().map(|part| &part.slot) {
        Some(FragmentSlot::Table(_)) => FileFormat::Toml,
        Some(FragmentSlot::Block) => FileFormat::Markdown,
        _ => FileFormat::Json,
    }
}

/// A part in words.
fn name_of(part: &Fragment) -> String {
    match &part.slot {
        FragmentSlot::Block => "the block".to_owned(),
        FragmentSlot::Whole => "it".to_owned(),
        slot => {
            let path: Vec<String> =
                slot.path().iter().map(|n| Value::from(n.as_str()).to_string()).collect();
            format!("omx's part in {}", path.join("."))
        }
    }
}

//! A plan, and the planner that builds it file by file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::block::BlockMarks;
use super::disk::SetupDisk;
use super::edit::{self, FileFormat, FileOwnership, FragmentConflict};
use super::fragment::{DesiredFragment, Fragment, FragmentSlot};
use super::manifest::{FileOrigin, FileRecord, Manifest};
use super::paths::{SetupPaths, SetupScope};
use super::text::hash;
use crate::HostKind;

/// The change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupFileChange {
    /// The file.
    pub path: PathBuf,
    /// The text before; `None` if the file does not exist.
    pub old: Option<String>,
    /// The text after; `None` if the file is deleted.
    pub new: Option<String>,
}

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupNoteKind {
    /// omx cannot use the file and leaves it alone.
    Refused,
    /// A foreign value is where omx's fragment must be.
    Taken,
    /// The person has changed omx's fragment; it stays.
    Edited,
    /// The person has their own value; it stays.
    Theirs,
    /// Other advice.
    Hint,
}

impl SetupNoteKind {
    /// The name in JSON output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Taken => "taken",
            Self::Edited => "edited",
            Self::Theirs => "theirs",
            Self::Hint => "hint",
        }
    }

    /// Whether omx could not do what was asked.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::Refused | Self::Taken)
    }
}

/// A message for the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetupNote {
    /// Its kind.
    pub kind: SetupNoteKind,
    /// The file.
    pub path: PathBuf,
    /// The message.
    pub text: String,
}

/// All changes of a setup or uninstall.
#[derive(Clone, Debug)]
pub struct SetupPlan {
    /// Where the manifest is.
    pub manifest: PathBuf,
    /// The manifest while files are being changed: it records the fragments from
    /// before and after.
    pub during: Manifest,
    /// The manifest after all changes.
    pub after: Manifest,
    /// The changes, in order.
    pub changes: Vec<SetupFileChange>,
    /// Messages for the person.
    pub notes: Vec<SetupNote>,
    /// For what setup is.
    pub scope: SetupScope,
}

impl SetupPlan {
    /// Whether omx could not do what was asked.
    pub fn has_failed(&self) -> bool {
        self.notes.iter().any(|note| note.kind.is_failure())
    }
}

pub(crate) struct SetupPlanner<'a> {
    pub paths: &'a SetupPaths,
    pub disk: &'a dyn SetupDisk,
    pub old: Manifest,
    after: Manifest,
    changes: Vec<SetupFileChange>,
    notes: Vec<SetupNote>,
    seen: Vec<PathBuf>,
    /// How many files of each host another setup wrote; they serve both.
    shared: BTreeMap<HostKind, usize>,
}

impl<'a> SetupPlanner<'a> {
    pub fn new(paths: &'a SetupPaths, disk: &'a dyn SetupDisk, old: Option<Manifest>) -> Self {
        let old = old.unwrap_or_else(|| Manifest::new(&paths.omx, &paths.version));
        let mut after = old.clone();
        after.unfinished = false;
        after.omx.clone_from(&paths.omx);
        after.omx_version.clone_from(&paths.version);
        Self {
            paths,
            disk,
            old,
            after,
            changes: Vec::new(),
            notes: Vec::new(),
            seen: Vec::new(),
            shared: BTreeMap::new(),
        }
    }

    pub fn note(&mut self, kind: SetupNoteKind, path: &Path, text: impl Into<String>) {
        self.notes.push(SetupNote { kind, path: path.to_owned(), text: text.into() });
    }

    /// Adds fragments to a file, and returns its new text if the file can be edited.
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
                    (SetupNoteKind::Edited, format!("{what} has changed since setup wrote it"))
                }
                FragmentConflict::Theirs(what) => {
                    (SetupNoteKind::Theirs, format!("{what} is your own"))
                }
                FragmentConflict::Taken(what) => {
                    let name = self.paths.dialect.name;
                    (SetupNoteKind::Taken, format!("{what} exists and was not written by {name}"))
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
        // Do not create a file that would hold no fragment.
        let is_needed = old.is_some() || self.after.file(path).is_some();
        let new = is_needed.then_some(done.text);
        self.change(path, old, new.clone());
        new
    }

    /// Writes a whole file.
    pub fn whole(&mut self, host: HostKind, path: &Path, text: &str) {
        self.seen.push(path.to_owned());
        let Some(old) = self.read(path) else { return };
        let record = self.old.file(path).cloned();
        if old.is_some() && record.is_none() && self.paths.of_others.iter().any(|it| it == path) {
            *self.shared.entry(host).or_default() += 1;
            return;
        }
        match edit::classify_whole_file(old.as_deref(), text, record.as_ref()) {
            FileOwnership::Ours(part) => {
                let origin = record.map_or(FileOrigin::Absent, |record| record.origin);
                let after = hash(text.as_bytes());
                self.remember(host, path, origin, after, vec![part]);
                self.change(path, old, Some(text.to_owned()));
            }
            FileOwnership::Edited => {
                self.note(SetupNoteKind::Edited, path, "it has changed since setup wrote it");
            }
            FileOwnership::Theirs => self.note(SetupNoteKind::Theirs, path, "it is your own"),
        }
    }

    /// Removes omx's fragments from a file.
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
                        "it has changed since setup wrote it, so it stays",
                    );
                }
                _ => self.change(path, old, None),
            }
            self.forget(path);
            return;
        }
        let kind = format_for(record);
        let done = match edit::take_out(kind, old.as_deref(), record) {
            Ok(done) => done,
            Err(broken) => return self.note(SetupNoteKind::Refused, path, broken.to_string()),
        };
        for part in &done.left {
            let text = format!("{} has changed since setup wrote it, so it stays", describe(part));
            self.note(SetupNoteKind::Edited, path, text);
        }
        self.forget(path);
        self.change(path, old, done.text);
    }

    /// Removes what an older omx wrote for a host and this one does not.
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

    /// Whether another host's record is about the same file under another name.
    pub fn is_shared(&self, host: HostKind, path: &Path) -> bool {
        let real = self.disk.real(path);
        let mut others = self.after.files.iter().filter(|record| record.host != host);
        others.any(|record| record.path != path && self.disk.real(&record.path) == real)
    }

    fn read(&mut self, path: &Path) -> Option<Option<String>> {
        if let SetupScope::Project(root) = &self.paths.scope
            && path.starts_with(root)
            && let Some(link) = self.disk.find_link(root, path)
        {
            // It is the repository's, and the bytes would go wherever it says. One link can
            // lead to many files, and is named once.
            let is_named =
                |note: &SetupNote| note.kind == SetupNoteKind::Refused && note.path == link;
            if !self.notes.iter().any(is_named) {
                let text = "it is a link; setup writes through none";
                self.note(SetupNoteKind::Refused, &link, text);
            }
            return None;
        }
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
        let folder = path.parent().unwrap_or(path);
        if self.paths.scope == SetupScope::User && self.disk.find_link(folder, path).is_some() {
            let real = self.disk.real(path);
            let text = format!("it is a link of yours; the bytes go to {}", real.display());
            self.note(SetupNoteKind::Hint, path, text);
        }
        if old.is_none() {
            let missing =
                path.ancestors().skip(1).take_while(|folder| !self.disk.is_folder(folder));
            let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
            missing.reverse();
            missing.retain(|folder| !self.after.folders.contains(folder));
            self.after.folders.extend(missing);
        }
        self.changes.push(SetupFileChange { path: path.to_owned(), old, new });
    }

    /// A file's text before and after.
    pub fn texts(&self, path: &Path) -> (Option<String>, Option<String>) {
        match self.changes.iter().find(|change| change.path == path) {
            Some(change) => (change.old.clone(), change.new.clone()),
            None => {
                let text = self.disk.read(path).ok().flatten();
                (text.clone(), text)
            }
        }
    }

    /// Replaces a file's new text.
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

    pub fn finish(mut self) -> SetupPlan {
        for (host, count) in std::mem::take(&mut self.shared) {
            let name = self.paths.dialect.name;
            let text = format!(
                "{count} roles and skills of another setup serve {name} too; after you uninstall that one, run {name} setup again"
            );
            let folder = self.paths.homes.folder(host);
            self.note(SetupNoteKind::Hint, folder, text);
        }
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
            scope: self.paths.scope.clone(),
        }
    }
}

fn format_for(record: &FileRecord) -> FileFormat {
    let first = record.parts.first();
    match first.map(|part| (&part.slot, &part.value)) {
        Some((FragmentSlot::Table(_), _)) => FileFormat::Toml,
        Some((FragmentSlot::Block, block)) => FileFormat::Markdown(BlockMarks::around(block)),
        _ => FileFormat::Json,
    }
}

/// A noun for a fragment, for messages.
fn describe(part: &Fragment) -> String {
    match &part.slot {
        FragmentSlot::Block => "the block".to_owned(),
        FragmentSlot::Whole => "it".to_owned(),
        slot => {
            let path: Vec<String> =
                slot.path().iter().map(|n| Value::from(n.as_str()).to_string()).collect();
            format!("the entry {}", path.join("."))
        }
    }
}

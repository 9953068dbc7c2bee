//! The edit of one file: takes its text, the desired fragments and the manifest's
//! record, and computes the new text and the new record.

use serde_json::Value;

use super::block::BlockMarks;
use super::fragment::{
    ConflictRule, DesiredFragment, Fragment, FragmentSlot, Recognizer, hook_dialect,
};
use super::manifest::{FileOrigin, FileRecord};
use super::text::{TextForm, hash};
use super::{EditError, block, json, toml};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Json,
    Toml,
    /// With a block between these marks.
    Markdown(BlockMarks),
}

impl FileFormat {
    /// The text of a new file before anything is inserted.
    fn seed(self, newline: &str) -> String {
        match self {
            Self::Json => format!("{{}}{newline}"),
            Self::Toml | Self::Markdown(_) => String::new(),
        }
    }

    fn read_values(self, text: &str, slot: &FragmentSlot) -> Result<Vec<Value>, EditError> {
        match self {
            Self::Json => json::read_values(text, slot),
            Self::Toml => toml::read_values(text, slot),
            Self::Markdown(marks) => block::read_values(text, marks),
        }
    }

    fn insert(
        self,
        text: &str,
        desired: &DesiredFragment,
        newline: &str,
    ) -> Result<(String, Fragment), EditError> {
        match self {
            Self::Json => json::insert(text, &desired.slot, &desired.value, newline),
            Self::Toml => toml::insert(text, &desired.slot, &desired.value, newline),
            Self::Markdown(_) => Ok(block::insert(text, &desired.value, newline)),
        }
    }

    fn replace(
        self,
        text: &str,
        old: &Fragment,
        value: &Value,
        newline: &str,
    ) -> Result<(String, Fragment), EditError> {
        match self {
            Self::Json => json::replace(text, old, value, newline),
            Self::Toml => toml::replace(text, old, value),
            Self::Markdown(_) => block::replace(text, old, value, newline),
        }
    }

    fn remove(self, text: &str, part: &Fragment) -> Result<String, EditError> {
        match self {
            Self::Json => json::remove(text, part),
            Self::Toml => toml::remove(text, part),
            Self::Markdown(_) => block::remove(text, part),
        }
    }
}

/// Why a fragment is not as omx wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FragmentConflict {
    /// The person has changed it since setup wrote it.
    Edited(String),
    /// The person has their own value there, and keeps it.
    Theirs(String),
    /// A foreign value is where omx's fragment must be.
    Taken(String),
}

/// A file with omx's fragments.
#[derive(Debug)]
pub(crate) struct EditedFile {
    pub text: String,
    pub origin: FileOrigin,
    pub parts: Vec<Fragment>,
    pub kept: Vec<FragmentConflict>,
}

/// Brings the desired fragments into a file.
pub(crate) fn set_up(
    kind: FileFormat,
    old: Option<&str>,
    wishes: &[DesiredFragment],
    record: Option<&FileRecord>,
) -> Result<EditedFile, EditError> {
    let (form, body) = TextForm::split(old.unwrap_or_default());
    let newline = form.newline;
    let is_blank = body.trim().is_empty();
    let origin = match (old, record) {
        (Some(_), Some(record)) if !is_blank => record.origin.clone(),
        (None, _) => FileOrigin::Absent,
        (Some(_), _) if is_blank => FileOrigin::Blank(body.to_owned()),
        (Some(text), _) => FileOrigin::Content(hash(text.as_bytes())),
    };
    let mut text = match kind {
        FileFormat::Json if is_blank => kind.seed(newline),
        _ => body.to_owned(),
    };
    let mut parts: Vec<Fragment> = record.map(|record| record.parts.clone()).unwrap_or_default();
    let known = || record.into_iter().flat_map(|record| record.parts.iter().chain(&record.earlier));
    // Remove what an older omx wrote and this one does not.
    for part in parts.clone().iter().rev() {
        if wishes.iter().any(|desired| desired.slot == part.slot) {
            continue;
        }
        if kind.read_values(&text, &part.slot)?.contains(&part.value) {
            text = kind.remove(&text, part)?;
        }
        parts.retain(|kept| kept != part);
    }
    let mut kept = Vec::new();
    for desired in wishes {
        let there = kind.read_values(&text, &desired.slot)?;
        let mut remembered = known().filter(|part| part.slot == desired.slot);
        let is_remembered = remembered.clone().next().is_some();
        let mut put = |part: Fragment| match parts.iter_mut().find(|known| known.slot == part.slot)
        {
            Some(known) => *known = part,
            None => parts.push(part),
        };
        if there.contains(&desired.value) {
            let part = remembered.find(|part| part.value == desired.value);
            put(part.cloned().unwrap_or_else(|| Fragment::found(&desired.slot, &desired.value)));
            continue;
        }
        let find_unrecorded = || there.iter().find(|value| desired.own.matches(value));
        let old = match remembered.find(|part| there.contains(&part.value)) {
            Some(part) => Some(part.clone()),
            None if is_remembered => None,
            None => find_unrecorded().map(|value| {
                let before = (desired.own == Recognizer::NewTrust).then(|| value.clone());
                Fragment { before, ..Fragment::found(&desired.slot, value) }
            }),
        };
        if let Some(old) = old {
            match kind.replace(&text, &old, &desired.value, newline) {
                Ok((new, part)) => {
                    text = new;
                    put(part);
                }
                Err(_) => kept.push(FragmentConflict::Edited(desired.what.clone())),
            }
            continue;
        }
        let is_list = matches!(desired.slot, FragmentSlot::Element(_));
        let is_edited =
            is_remembered && (find_unrecorded().is_some() || !is_list && !there.is_empty());
        if is_edited {
            kept.push(FragmentConflict::Edited(desired.what.clone()));
        } else if is_list || there.is_empty() {
            // Keep the order of insertion in the manifest.
            parts.retain(|part| part.slot != desired.slot);
            let (new, part) = kind.insert(&text, desired, newline)?;
            text = new;
            parts.push(part);
        } else {
            kept.push(match desired.rule {
                ConflictRule::OnlyIfMissing => FragmentConflict::Theirs(desired.what.clone()),
                ConflictRule::Required => FragmentConflict::Taken(desired.what.clone()),
            });
        }
    }
    Ok(EditedFile { text: form.join(text), origin, parts, kept })
}

/// A file without omx's fragments.
#[derive(Debug)]
pub(crate) struct RestoredFile {
    /// The new text; `None` if the file is to be deleted.
    pub text: Option<String>,
    /// Fragments the person has changed; they stay.
    pub left: Vec<Fragment>,
}

/// Removes omx's fragments from a file, last first.
pub(crate) fn take_out(
    kind: FileFormat,
    old: Option<&str>,
    record: &FileRecord,
) -> Result<RestoredFile, EditError> {
    let Some(old) = old else { return Ok(RestoredFile { text: None, left: Vec::new() }) };
    let (form, body) = TextForm::split(old);
    let mut text = body.to_owned();
    if kind == FileFormat::Json && text.trim().is_empty() {
        return Ok(RestoredFile { text: Some(old.to_owned()), left: Vec::new() });
    }
    let mut left = Vec::new();
    let mut is_changed = false;
    for part in record.parts.iter().rev() {
        let there = kind.read_values(&text, &part.slot)?;
        let earlier = record.earlier.iter().filter(|earlier| earlier.slot == part.slot);
        let found = [part].into_iter().chain(earlier).find(|part| there.contains(&part.value));
        match found {
            Some(part) => match undo(kind, &text, part, form.newline) {
                Ok(rest) => {
                    text = rest;
                    is_changed = true;
                }
                Err(_) => left.push(part.clone()),
            },
            None => {
                let is_list = matches!(part.slot, FragmentSlot::Element(_));
                let own = hook_dialect(&part.value);
                let is_ours =
                    |value: &Value| !is_list || own.is_some() && hook_dialect(value) == own;
                if there.iter().any(is_ours) {
                    left.push(part.clone());
                }
            }
        }
    }
    left.reverse();
    let is_seed = is_changed && (text == kind.seed("\n") || text == kind.seed("\r\n"));
    let text = match &record.origin {
        FileOrigin::Absent if is_seed => None,
        FileOrigin::Blank(blank) if is_seed => Some(form.join(blank.clone())),
        _ => Some(form.join(text)),
    };
    Ok(RestoredFile { text, left })
}

/// Removes a fragment, or restores the value it replaced.
fn undo(kind: FileFormat, text: &str, part: &Fragment, newline: &str) -> Result<String, EditError> {
    match &part.before {
        Some(before) => kind.replace(text, part, before, newline).map(|(text, _)| text),
        None => kind.remove(text, part),
    }
}

/// Who owns a file that omx wants to write as a whole.
#[derive(Debug)]
pub(crate) enum FileOwnership {
    /// omx's: it has, or will have, this text.
    Ours(Fragment),
    /// omx's, but the person has changed it.
    Edited,
    /// The person's.
    Theirs,
}

/// Decides who owns a file that omx wants to write as a whole.
pub(crate) fn classify_whole_file(
    old: Option<&str>,
    new: &str,
    record: Option<&FileRecord>,
) -> FileOwnership {
    let hash_of = |text: &str| Value::String(hash(text.as_bytes()));
    let ours = || FileOwnership::Ours(Fragment::found(&FragmentSlot::Whole, &hash_of(new)));
    match (old, record) {
        (None, _) => ours(),
        (Some(old), _) if old == new => ours(),
        (Some(old), Some(record)) if is_recorded(old, record) => ours(),
        (Some(_), Some(_)) => FileOwnership::Edited,
        (Some(_), None) => FileOwnership::Theirs,
    }
}

/// Whether a file is as omx wrote it.
pub(crate) fn is_recorded(text: &str, record: &FileRecord) -> bool {
    let value = Value::String(hash(text.as_bytes()));
    record.parts.iter().chain(&record.earlier).any(|part| part.value == value)
}

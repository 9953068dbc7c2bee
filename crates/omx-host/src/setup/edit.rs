//! One file: from its text, what is wanted and what is remembered, to the new
//! text and what to remember of it.

use serde_json::Value;

use super::manifest::{FileRecord, Origin};
use super::part::{Own, Part, Rule, Slot, Wish};
use super::text::{Form, hash};
use super::{Broken, block, json, toml};

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Json,
    Toml,
    Markdown,
}

impl Kind {
    /// What a file that was not there begins as.
    fn seed(self, newline: &str) -> String {
        match self {
            Self::Json => format!("{{}}{newline}"),
            Self::Toml | Self::Markdown => String::new(),
        }
    }

    fn standing(self, text: &str, slot: &Slot) -> Result<Vec<Value>, Broken> {
        match self {
            Self::Json => json::standing(text, slot),
            Self::Toml => toml::standing(text, slot),
            Self::Markdown => block::standing(text),
        }
    }

    fn insert(self, text: &str, wish: &Wish, newline: &str) -> Result<(String, Part), Broken> {
        match self {
            Self::Json => json::insert(text, &wish.slot, &wish.value, newline),
            Self::Toml => toml::insert(text, &wish.slot, &wish.value, newline),
            Self::Markdown => Ok(block::insert(text, &wish.value, newline)),
        }
    }

    fn replace(
        self,
        text: &str,
        old: &Part,
        value: &Value,
        newline: &str,
    ) -> Result<(String, Part), Broken> {
        match self {
            Self::Json => json::replace(text, old, value, newline),
            Self::Toml => toml::replace(text, old, value),
            Self::Markdown => block::replace(text, old, value, newline),
        }
    }

    fn remove(self, text: &str, part: &Part) -> Result<String, Broken> {
        match self {
            Self::Json => json::remove(text, part),
            Self::Toml => toml::remove(text, part),
            Self::Markdown => block::remove(text, part),
        }
    }
}

/// Why a part is not as omx would have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The person has changed it since omx wrote it.
    Edited(String),
    /// Something of the person's stands there, and may.
    Theirs(String),
    /// Something that is not omx's stands where omx's part must be.
    Taken(String),
}

/// A file with omx's parts.
#[derive(Debug)]
pub(crate) struct SetUp {
    pub text: String,
    pub origin: Origin,
    pub parts: Vec<Part>,
    pub kept: Vec<Kept>,
}

/// Brings the wanted parts into a file.
pub(crate) fn set_up(
    kind: Kind,
    old: Option<&str>,
    wishes: &[Wish],
    record: Option<&FileRecord>,
) -> Result<SetUp, Broken> {
    let (form, body) = Form::of(old.unwrap_or_default());
    let newline = form.newline;
    let is_blank = body.trim().is_empty();
    let origin = match (old, record) {
        (Some(_), Some(record)) if !is_blank => record.origin.clone(),
        (None, _) => Origin::Absent,
        (Some(_), _) if is_blank => Origin::Blank(body.to_owned()),
        (Some(text), _) => Origin::Content(hash(text.as_bytes())),
    };
    let mut text = match kind {
        Kind::Json if is_blank => kind.seed(newline),
        _ => body.to_owned(),
    };
    let mut parts: Vec<Part> = record.map(|record| record.parts.clone()).unwrap_or_default();
    let known = || record.into_iter().flat_map(|record| record.parts.iter().chain(&record.earlier));
    // What an older omx wrote and this one does not.
    for part in parts.clone().iter().rev() {
        if wishes.iter().any(|wish| wish.slot == part.slot) {
            continue;
        }
        if kind.standing(&text, &part.slot)?.contains(&part.value) {
            text = kind.remove(&text, part)?;
        }
        parts.retain(|kept| kept != part);
    }
    let mut kept = Vec::new();
    for wish in wishes {
        let there = kind.standing(&text, &wish.slot)?;
        let mut remembered = known().filter(|part| part.slot == wish.slot);
        let is_remembered = remembered.clone().next().is_some();
        let mut put = |part: Part| match parts.iter_mut().find(|known| known.slot == part.slot) {
            Some(known) => *known = part,
            None => parts.push(part),
        };
        if there.contains(&wish.value) {
            let part = remembered.find(|part| part.value == wish.value);
            put(part.cloned().unwrap_or_else(|| Part::found(&wish.slot, &wish.value)));
            continue;
        }
        let unfounded = || there.iter().find(|value| wish.own.recognises(value));
        let old = match remembered.find(|part| there.contains(&part.value)) {
            Some(part) => Some(part.clone()),
            None if is_remembered => None,
            None => unfounded().map(|value| {
                let before = (wish.own == Own::NewTrust).then(|| value.clone());
                Part { before, ..Part::found(&wish.slot, value) }
            }),
        };
        if let Some(old) = old {
            match kind.replace(&text, &old, &wish.value, newline) {
                Ok((new, part)) => {
                    text = new;
                    put(part);
                }
                Err(_) => kept.push(Kept::Edited(wish.what.clone())),
            }
            continue;
        }
        let is_list = matches!(wish.slot, Slot::Element(_));
        let is_edited = is_remembered && (unfounded().is_some() || !is_list && !there.is_empty());
        if is_edited {
            kept.push(Kept::Edited(wish.what.clone()));
        } else if is_list || there.is_empty() {
            // Only what is put in now is to be remembered, and last.
            parts.retain(|part| part.slot != wish.slot);
            let (new, part) = kind.insert(&text, wish, newline)?;
            text = new;
            parts.push(part);
        } else {
            kept.push(match wish.rule {
                Rule::IfNone => Kept::Theirs(wish.what.clone()),
                Rule::Needed => Kept::Taken(wish.what.clone()),
            });
        }
    }
    Ok(SetUp { text: form.whole(text), origin, parts, kept })
}

/// A file without omx's parts.
#[derive(Debug)]
pub(crate) struct TakenOut {
    /// `None`: the file is to go.
    pub text: Option<String>,
    /// Parts the person has changed; they stay.
    pub left: Vec<Part>,
}

/// Takes omx's parts out of a file, last first.
pub(crate) fn take_out(
    kind: Kind,
    old: Option<&str>,
    record: &FileRecord,
) -> Result<TakenOut, Broken> {
    let Some(old) = old else { return Ok(TakenOut { text: None, left: Vec::new() }) };
    let (form, body) = Form::of(old);
    let mut text = body.to_owned();
    if kind == Kind::Json && text.trim().is_empty() {
        return Ok(TakenOut { text: Some(old.to_owned()), left: Vec::new() });
    }
    let mut left = Vec::new();
    let mut is_changed = false;
    for part in record.parts.iter().rev() {
        let there = kind.standing(&text, &part.slot)?;
        let earlier = record.earlier.iter().filter(|earlier| earlier.slot == part.slot);
        let found = [part].into_iter().chain(earlier).find(|part| there.contains(&part.value));
        match found {
            Some(part) => match undone(kind, &text, part, form.newline) {
                Ok(rest) => {
                    text = rest;
                    is_changed = true;
                }
                Err(_) => left.push(part.clone()),
            },
            None => {
                let is_list = matches!(part.slot, Slot::Element(_));
                let is_ours = |value: &Value| !is_list || Own::Hook.recognises(value);
                if there.iter().any(is_ours) {
                    left.push(part.clone());
                }
            }
        }
    }
    left.reverse();
    let is_seed = is_changed && (text == kind.seed("\n") || text == kind.seed("\r\n"));
    let text = match &record.origin {
        Origin::Absent if is_seed => None,
        Origin::Blank(blank) if is_seed => Some(form.whole(blank.clone())),
        _ => Some(form.whole(text)),
    };
    Ok(TakenOut { text, left })
}

/// The text without a part, or with what stood in its place.
fn undone(kind: Kind, text: &str, part: &Part, newline: &str) -> Result<String, Broken> {
    match &part.before {
        Some(before) => kind.replace(text, part, before, newline).map(|(text, _)| text),
        None => kind.remove(text, part),
    }
}

/// A whole file of omx's.
#[derive(Debug)]
pub(crate) enum WholeFile {
    /// It is, or is to be, this text.
    Ours(Part),
    /// The person has changed it since.
    Edited,
    /// It is the person's.
    Theirs,
}

/// What to do with a file that is to be omx's as a whole.
pub(crate) fn whole(old: Option<&str>, new: &str, record: Option<&FileRecord>) -> WholeFile {
    let of = |text: &str| Value::String(hash(text.as_bytes()));
    let ours = || WholeFile::Ours(Part::found(&Slot::Whole, &of(new)));
    match (old, record) {
        (None, _) => ours(),
        (Some(old), _) if old == new => ours(),
        (Some(old), Some(record)) if is_recorded(old, record) => ours(),
        (Some(_), Some(_)) => WholeFile::Edited,
        (Some(_), None) => WholeFile::Theirs,
    }
}

/// Whether a whole file is as omx wrote it.
pub(crate) fn is_recorded(text: &str, record: &FileRecord) -> bool {
    let value = Value::String(hash(text.as_bytes()));
    record.parts.iter().chain(&record.earlier).any(|part| part.value == value)
}

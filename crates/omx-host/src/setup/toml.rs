//! Edits TOML in place. omx adds its table at the end of the file under its own header,
//! or to an inline table if the person has one. All other bytes stay as they are.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Key, TableLike};

use super::EditError;
use super::fragment::{Fragment, FragmentSlot};

/// Parses a file.
pub(crate) fn read(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|error| {
        let line = error.span().map(|span| 1 + text[..span.start].matches('\n').count());
        let place = line.map_or(String::new(), |line| format!(" in line {line}"));
        EditError(format!("it is not TOML: {}{place}", error.message().replace('\n', ", ")))
    })
}

/// Finds the item at a path.
pub(crate) fn item_at<'a>(document: &'a Document<&str>, path: &[String]) -> Option<&'a Item> {
    let mut item = document.as_item();
    for name in path {
        item = item.as_table_like()?.get(name)?;
    }
    Some(item)
}

/// Converts an item to JSON.
pub(crate) fn to_json(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return Value::Object(table.iter().map(|(k, v)| (k.to_owned(), to_json(v))).collect());
    }
    match item.as_value() {
        Some(toml_edit::Value::String(text)) => Value::String(text.value().clone()),
        Some(toml_edit::Value::Integer(number)) => Value::from(*number.value()),
        Some(toml_edit::Value::Boolean(boolean)) => Value::Bool(*boolean.value()),
        Some(toml_edit::Value::Array(array)) => {
            Value::Array(array.iter().map(|one| to_json(&Item::Value(one.clone()))).collect())
        }
        // omx writes nothing else; the text is enough to see a difference.
        _ => Value::String(item.to_string()),
    }
}

/// Reads the value in a slot.
pub(crate) fn read_values(text: &str, slot: &FragmentSlot) -> Result<Vec<Value>, EditError> {
    let document = read(text)?;
    Ok(item_at(&document, slot.path()).map(to_json).into_iter().collect())
}

/// Inserts a table into an empty slot.
pub(crate) fn insert(
    text: &str,
    slot: &FragmentSlot,
    value: &Value,
    newline: &str,
) -> Result<(String, Fragment), EditError> {
    let part = |text: &str, lead| Fragment::written(slot, value, text.to_owned(), lead, 0);
    let holds = |text: &str| read_values(text, slot).is_ok_and(|there| there == [value.clone()]);
    let lead = match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    let piece = format!("{lead}{}", table_text(slot.path(), value, newline));
    let whole = format!("{text}{piece}");
    if holds(&whole) {
        return Ok((whole, part(&piece, lead.len())));
    }
    if let Some((at, piece, lead)) = inline_piece(text, slot.path(), value)? {
        let whole = format!("{}{piece}{}", &text[..at], &text[at..]);
        if holds(&whole) {
            return Ok((whole, part(&piece, lead)));
        }
    }
    let name = slot.path().join(".");
    Err(EditError(format!("{name} cannot be added without changing other lines; add it by hand")))
}

fn table_text(path: &[String], value: &Value, newline: &str) -> String {
    let mut out = format!("[{}]{newline}", dotted(path));
    for (name, value) in value.as_object().into_iter().flatten() {
        out.push_str(&format!("{} = {}{newline}", Key::new(name), inline(value)));
    }
    out
}

fn dotted(path: &[String]) -> String {
    path.iter().map(|name| Key::new(name).to_string()).collect::<Vec<_>>().join(".")
}

fn inline(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let pairs =
                map.iter().map(|(name, value)| format!("{} = {}", Key::new(name), inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => toml_edit::Value::from(text.as_str()).to_string().trim().to_owned(),
        other => other.to_string(),
    }
}

/// Where to insert into an inline table along the path, the text, and its lead.
fn inline_piece(
    text: &str,
    path: &[String],
    value: &Value,
) -> Result<Option<(usize, String, usize)>, EditError> {
    let document = read(text)?;
    for depth in (1..path.len()).rev() {
        let Some(item) = item_at(&document, &path[..depth]) else { continue };
        let Some(table) = item.as_inline_table() else { return Ok(None) };
        let Some(span) = table.span() else { return Ok(None) };
        let body = format!("{} = {}", dotted(&path[depth..]), inline(value));
        let last = table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end).max();
        return Ok(Some(match last {
            Some(end) => (end, format!(", {body}"), 2),
            None => (span.end - 1, format!(" {body} "), 1),
        }));
    }
    Ok(None)
}

/// Where a table starts: its header, or its key in an inline table.
fn find_start(document: &Document<&str>, path: &[String]) -> Option<(usize, Kind)> {
    if let Some(table) = item_at(document, path)?.as_table() {
        return Some((table.span()?.start, Kind::Header));
    }
    let (name, above) = path.split_last()?;
    Some((item_at(document, above)?.as_table_like()?.key(name)?.span()?.start, Kind::Inline))
}

enum Kind {
    Header,
    Inline,
}

fn find_inserted(document: &Document<&str>, text: &str, part: &Fragment) -> Option<Range<usize>> {
    if part.text.is_empty() {
        return None;
    }
    let start = find_start(document, part.slot.path())?.0.checked_sub(part.lead)?;
    let range = start..start + part.text.len();
    (text.get(range.clone())? == part.text).then_some(range)
}

/// Replaces a fragment's value where it is.
pub(crate) fn replace(
    text: &str,
    old: &Fragment,
    value: &Value,
) -> Result<(String, Fragment), EditError> {
    let document = read(text)?;
    let table = item_at(&document, old.slot.path()).and_then(Item::as_table_like);
    let table = table.ok_or_else(|| EditError("the table is missing".to_owned()))?;
    let mut changes: Vec<(Range<usize>, String)> = Vec::new();
    let (before, after) = (Map::new(), Map::new());
    let before = old.value.as_object().unwrap_or(&before);
    let after = value.as_object().unwrap_or(&after);
    for (name, new) in after {
        if before.get(name) == Some(new) {
            continue;
        }
        let span = table.get(name).and_then(Item::span);
        let span = span.ok_or_else(|| EditError(format!("{name} is missing from the table")))?;
        changes.push((span, inline(new)));
    }
    changes.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    let (mut whole, mut piece) = (text.to_owned(), old.text.clone());
    for (span, new) in changes {
        // Other fragments may be beside this one, so the inserted text is derived
        // from the old one, not from the file.
        let before = &text[span.clone()];
        let is_known = piece.matches(before).count() == 1;
        piece = if is_known { piece.replace(before, &new) } else { String::new() };
        whole.replace_range(span, &new);
    }
    if read_values(&whole, &old.slot)? != [value.clone()] {
        return Err(EditError("the table cannot be updated in place".to_owned()));
    }
    Ok((whole, Fragment { value: value.clone(), text: piece, ..old.clone() }))
}

/// Removes a fragment.
pub(crate) fn remove(text: &str, part: &Fragment) -> Result<String, EditError> {
    let document = read(text)?;
    if let Some(range) = find_inserted(&document, text, part) {
        let rest = format!("{}{}", &text[..range.start], &text[range.end..]);
        if read_values(&rest, &part.slot).is_ok_and(|there| there.is_empty()) {
            return Ok(rest);
        }
    }
    let missing = || EditError("the table is missing".to_owned());
    let (start, kind) = find_start(&document, part.slot.path()).ok_or_else(missing)?;
    let item = item_at(&document, part.slot.path()).ok_or_else(missing)?;
    let rest = match kind {
        Kind::Header => {
            let table = item.as_table_like().ok_or_else(missing)?;
            remove_lines(text, start, table)
        }
        Kind::Inline => remove_pair(text, start..item.span().ok_or_else(missing)?.end),
    };
    match read_values(&rest, &part.slot)?.is_empty() {
        true => Ok(rest),
        false => Err(EditError("the table was rewritten in another form".to_owned())),
    }
}

/// Renames a table if it exists under its old name and not under the new one.
pub(crate) fn rename_table(text: &str, path: &[String], name: &str) -> String {
    let plain = || text.to_owned();
    let Ok(document) = read(text) else { return plain() };
    let Some((old, above)) = path.split_last() else { return plain() };
    let new: Vec<String> = above.iter().cloned().chain([name.to_owned()]).collect();
    if item_at(&document, &new).is_some() {
        return plain();
    }
    let Some((start, _)) = find_start(&document, path) else { return plain() };
    // The name is in the header, or is the key of an inline table.
    let line = text[start..].find('\n').map_or(text.len(), |end| start + end);
    let changed = text[start..line].replacen(old, name, 1);
    let whole = format!("{}{changed}{}", &text[..start], &text[line..]);
    if read_values(&whole, &FragmentSlot::Table(new)).is_ok_and(|there| !there.is_empty()) {
        whole
    } else {
        plain()
    }
}

/// Removes a header's line and the lines of its values.
fn remove_lines(text: &str, header: usize, table: &dyn TableLike) -> String {
    let pair = |name: &str, item: &Item| Some((table.key(name)?.span()?.start, item.span()?.end));
    let mut spans: Vec<(usize, usize)> =
        table.iter().filter_map(|(name, item)| pair(name, item)).collect();
    spans.push((header, header + 1));
    spans.sort_by_key(|(start, _)| std::cmp::Reverse(*start));
    let mut rest = text.to_owned();
    for (start, end) in spans {
        let line = rest[..start].rfind('\n').map_or(0, |at| at + 1);
        let next = rest[end..].find('\n').map_or(rest.len(), |at| end + at + 1);
        rest.replace_range(line..next, "");
    }
    rest
}

/// Removes a pair of an inline table and the comma beside it.
fn remove_pair(text: &str, pair: Range<usize>) -> String {
    let before = text[..pair.start].trim_end();
    let after = text[pair.end..].trim_start();
    let range = if before.ends_with(',') {
        before.len() - 1..pair.end
    } else if let Some(next) = after.strip_prefix(',') {
        pair.start..text.len() - next.trim_start().len()
    } else {
        pair
    };
    format!("{}{}", &text[..range.start], &text[range.end..])
}

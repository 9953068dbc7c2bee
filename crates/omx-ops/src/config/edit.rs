//! Sets one key in a configuration file and keeps every other byte.

use std::path::Path;

use omx_kernel::config_keys::full_name;
use omx_kernel::{GuardedAct, Refusal, RefusalCode, Shape, Value};
use omx_store::change_file;
use toml_edit::{DocumentMut, Item, Table, value};

use super::files;
use super::layers::{Config, PROJECT_TOML, checked, load};
use super::trust::trust_files;
use crate::context::Context;

/// Sets a key in the person's own file, which applies to all projects.
pub fn set_for_user(
    context: &Context<'_>,
    path: &Path,
    key: &str,
    text: &str,
) -> Result<Value, Refusal> {
    context.check_act(GuardedAct::OfPerson("change the configuration"))?;
    let new = checked(key, text).map_err(Refusal::invalid_input)?;
    files::read(path)?;
    change_file(path, context.lock_deadline, |old| edited(path, old, key, &new))?;
    Ok(new)
}

/// Sets a key in the project's file. Creates the folder like every other folder of
/// omx's, so that `git status` stays clean.
pub fn set_for_project(context: &Context<'_>, key: &str, text: &str) -> Result<Value, Refusal> {
    context.check_act(GuardedAct::OfPerson("change the configuration"))?;
    let new = checked(key, text).map_err(Refusal::invalid_input)?;
    let store = context.store()?;
    let path = store.tree().join(PROJECT_TOML);
    files::read_in_tree(&path)?;
    let _locked = context.lock(&store, "config set")?;
    let waiting = |config: Config| config.waiting.into_iter().find(|file| file.path == path);
    let has_waited = waiting(load(context, &store)?).is_some();
    change_file(&path, context.lock_deadline, |old| edited(&path, old, key, &new))?;
    // What the person types here they trust, but nothing that was in the file before.
    if !has_waited && let Some(file) = waiting(load(context, &store)?) {
        trust_files(context, &[file])?;
    }
    Ok(new)
}

/// Returns the text of a valid TOML file with one key set.
fn edited(path: &Path, old: &str, key: &str, new: &Value) -> Result<String, Refusal> {
    // The TOML editor supports neither a byte order mark nor mixed line endings.
    let plain = old.trim_start_matches(BOM).replace("\r\n", "\n");
    let mut document: DocumentMut = plain.parse().map_err(|error| {
        Refusal::new(RefusalCode::Io, format!("cannot read {}: {error}", path.display()))
    })?;
    // The short name of a key would replace the section that its other keys are in.
    let mut parts: Vec<&str> = full_name(key).split('.').collect();
    let last = parts.pop().unwrap_or(key);
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for part in parts {
        let inner = table.entry(part).or_insert_with(|| {
            let mut section = Table::new();
            section.set_implicit(true);
            Item::Table(section)
        });
        widen(part, inner);
        table = inner.as_table_like_mut().ok_or_else(|| {
            Refusal::invalid_input(format!(
                "{part} is a value in {}, not a section; remove it there, then set {key} again",
                path.display()
            ))
        })?;
    }
    let mut item = toml_item(new);
    match table.get_mut(last) {
        Some(there) => {
            if let (Some(old), Some(new)) = (there.as_value(), item.as_value_mut()) {
                // Keep a comment after the value.
                *new.decor_mut() = old.decor().clone();
            }
            *there = item;
        }
        None => {
            table.insert(last, item);
        }
    }
    let mut edited = document.to_string();
    if !plain.is_empty() && !plain.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(transferred(old, &plain, &edited))
}

/// Turns a value under the short name of a key, such as `sandbox = "auto"`, into a section
/// with the full one.
fn widen(name: &str, item: &mut Item) {
    let Some(inner) = full_name(name).strip_prefix(name).and_then(|it| it.strip_prefix('.')) else {
        return;
    };
    if item.is_value() && !item.is_table_like() {
        let mut section = Table::new();
        section.set_dotted(true);
        section.insert(inner, std::mem::take(item));
        *item = Item::Table(section);
    }
}

const BOM: char = '\u{feff}';

/// Applies the change between `plain` and `edited` to `old`. `plain` is `old` without
/// its byte order mark and with `\n` as line ending.
fn transferred(old: &str, plain: &str, edited: &str) -> String {
    let same = |(one, other): &(u8, u8)| one == other;
    let before = plain.bytes().zip(edited.bytes()).take_while(same).count();
    let room = plain.len().min(edited.len()) - before;
    let after = plain.bytes().rev().zip(edited.bytes().rev()).take(room).take_while(same).count();
    let [mut start, mut end] = [before, after];
    while !plain.is_char_boundary(start) || !edited.is_char_boundary(start) {
        start -= 1;
    }
    while !plain.is_char_boundary(plain.len() - end) || !edited.is_char_boundary(edited.len() - end)
    {
        end -= 1;
    }
    let middle = &edited[start..edited.len() - end];
    let middle =
        if old.contains("\r\n") { middle.replace('\n', "\r\n") } else { middle.to_owned() };
    let head = place_in(old, start);
    let tail = place_in(old, plain.len() - end);
    [&old[..head], &middle, &old[tail..]].concat()
}

/// Maps an offset in the plain copy to the offset in `old`.
fn place_in(old: &str, plain_place: usize) -> usize {
    let bytes = old.as_bytes();
    let mut place = old.len() - old.trim_start_matches(BOM).len();
    for _ in 0..plain_place {
        place += if bytes[place..].starts_with(b"\r\n") { 2 } else { 1 };
    }
    place
}

fn toml_item(new: &Value) -> Item {
    match new.shape() {
        Shape::Integer(number) => match i64::try_from(*number) {
            Ok(number) => value(number),
            Err(_) => value(new.as_json()),
        },
        Shape::Number => new.as_json().parse::<f64>().map_or_else(|_| value(new.as_json()), value),
        Shape::Array(items) => {
            let texts = items.iter().filter_map(Value::as_str);
            value(texts.collect::<toml_edit::Array>())
        }
        _ => value(new.as_str().unwrap_or_default()),
    }
}

//! Setting one key in the person's own file, every other byte as it was.

use std::path::Path;
use std::time::Duration;

use omx_kernel::{Code, Refusal, Shape, Value};
use omx_store::change_file;
use toml_edit::{DocumentMut, Item, Table, value};

use super::files;
use super::layers::checked;

/// Which file is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTarget {
    /// The person's own, for all projects.
    User,
    /// The project's.
    Project,
}

/// Sets a key in a TOML file. A file that is not right already is not touched.
pub fn set(path: &Path, key: &str, text: &str, deadline: Duration) -> Result<Value, Refusal> {
    let new = checked(key, text).map_err(Refusal::input)?;
    files::read(path)?;
    change_file(path, deadline, |old| edited(path, old, key, &new))?;
    Ok(new)
}

fn edited(path: &Path, old: &str, key: &str, new: &Value) -> Result<String, Refusal> {
    let mut document: DocumentMut = old.parse().map_err(|error| {
        Refusal::new(Code::Io, format!("cannot read {}: {error}", path.display()))
    })?;
    let mut parts: Vec<&str> = key.split('.').collect();
    let last = parts.pop().unwrap_or(key);
    let mut table: &mut dyn toml_edit::TableLike = document.as_table_mut();
    for part in parts {
        let inner = table.entry(part).or_insert_with(|| {
            let mut section = Table::new();
            section.set_implicit(true);
            Item::Table(section)
        });
        table = inner.as_table_like_mut().ok_or_else(|| {
            Refusal::input(format!("{part} is a value in {}, not a section", path.display()))
        })?;
    }
    let mut item = toml_item(new);
    if let (Some(old), Some(new)) = (table.get(last).and_then(Item::as_value), item.as_value_mut())
    {
        // A comment behind the old value stays behind the new one.
        *new.decor_mut() = old.decor().clone();
    }
    table.insert(last, item);
    Ok(document.to_string())
}

fn toml_item(new: &Value) -> Item {
    match new.shape() {
        Shape::Whole(number) => match i64::try_from(*number) {
            Ok(number) => value(number),
            Err(_) => value(new.text()),
        },
        Shape::Number => new.text().parse::<f64>().map_or_else(|_| value(new.text()), value),
        _ => value(new.as_str().unwrap_or_default()),
    }
}

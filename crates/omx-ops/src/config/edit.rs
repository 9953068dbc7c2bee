//! Setting one key in the person's own file, every other byte as it was.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use omx_kernel::{Refusal, Shape, Value};
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
pub fn set(path: &Path, key: &str, text: &str) -> Result<Value, Refusal> {
    let new = checked(key, text).map_err(Refusal::input)?;
    files::read(path)?;
    let fail = |what: &str, error: &dyn std::fmt::Display| {
        Refusal::new(omx_kernel::Code::Io, format!("cannot {what} {}: {error}", path.display()))
    };
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(fail("read", &error)),
    };
    let mut document: DocumentMut = old.parse().map_err(|error| fail("read", &error))?;
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
    let mut item = toml_item(&new);
    if let (Some(old), Some(new)) = (table.get(last).and_then(Item::as_value), item.as_value_mut())
    {
        // A comment behind the old value stays behind the new one.
        *new.decor_mut() = old.decor().clone();
    }
    table.insert(last, item);
    write(path, &document.to_string()).map_err(|error| fail("write", &error))?;
    Ok(new)
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

/// Replaces the file whole; a link of the person's stays a link.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(folder) = real.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary: PathBuf = real.with_file_name(name);
    let written = fs::File::create(&temporary).and_then(|mut file| {
        if let Ok(old) = fs::metadata(&real) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &real)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

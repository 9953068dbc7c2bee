//! Reads configuration files into flat settings, each with its line number.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use jsonc_parser::ast::Value as Jsonc;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use omx_kernel::config_keys::{check, is_section, row_of};
use omx_kernel::{Refusal, RefusalCode, Value};
use omx_process::read_plain_file;
use omx_store::MAX_DOCUMENT_BYTES;
use omx_store::is_persons;
use toml_edit::{Document, Item, Value as Toml};

/// One setting of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSetting {
    /// The dotted key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Its line number.
    pub line: usize,
}

/// A configuration file: the settings, and the text that they were read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its settings, in order.
    pub settings: Vec<FileSetting>,
    /// Its text.
    pub text: String,
    /// Whether it was not read, because another user owns it or can write it.
    pub is_skipped: bool,
}

/// Reads a configuration file; without settings if the file does not exist.
pub fn read(path: &Path) -> Result<ConfigFile, Refusal> {
    let Some(text) = text(path)? else { return Ok(ConfigFile::default()) };
    let file = File { path: path.to_owned(), text: &text };
    let settings = if path.extension().is_some_and(|ending| ending == "json") {
        file.json()?
    } else {
        file.toml()?
    };
    for setting in &settings {
        let row = row_of(&setting.key).map_err(|why| file.complain(setting.line, &why))?;
        check(&setting.key, row.kind, &setting.value)
            .map_err(|why| file.complain(setting.line, &why))?;
    }
    Ok(ConfigFile { settings, text, is_skipped: false })
}

/// The same for a project's file, which counts only if it is the person's.
pub fn read_of_project(path: &Path) -> Result<ConfigFile, Refusal> {
    match std::fs::metadata(path) {
        Err(error) if is_missing(&error) => Ok(ConfigFile::default()),
        Ok(data) if data.is_file() && !is_persons(&data) => {
            Ok(ConfigFile { is_skipped: true, ..ConfigFile::default() })
        }
        _ => read(path),
    }
}

/// The same for a file in omx's own folder, where links are not followed.
pub fn read_in_tree(path: &Path) -> Result<ConfigFile, Refusal> {
    match std::fs::symlink_metadata(path) {
        Err(error) if is_missing(&error) => Ok(ConfigFile::default()),
        Ok(data) if data.is_symlink() => {
            let why = format!("{} is a symbolic link; nothing is read through it", path.display());
            Err(Refusal::new(RefusalCode::UnsafePath, why))
        }
        _ => read_of_project(path),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Reads a file's text; `None` if it does not exist. Opens regular files only,
/// because reading a pipe could block forever.
pub fn text(path: &Path) -> Result<Option<String>, Refusal> {
    let unreadable = |why: &dyn Display| {
        Refusal::new(RefusalCode::Io, format!("cannot read {}: {why}", path.display()))
    };
    let is_file = match std::fs::metadata(path) {
        Ok(data) => data.is_file(),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    if !is_file {
        let why = format!("cannot read {}: it is not a file", path.display());
        return Err(Refusal::invalid_input(why));
    }
    read_plain_file(path, MAX_DOCUMENT_BYTES as u64).map(Some).map_err(|error| unreadable(&error))
}

struct File<'a> {
    path: PathBuf,
    text: &'a str,
}

impl File<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    fn complain(&self, line: usize, why: &str) -> Refusal {
        Refusal::invalid_input(format!("{}:{line}: {why}", self.path.display()))
    }

    fn toml(&self) -> Result<Vec<FileSetting>, Refusal> {
        let document = Document::parse(self.text).map_err(|error| {
            let line = error.span().map_or(1, |span| self.line(span.start));
            self.complain(line, error.message())
        })?;
        let mut settings = Vec::new();
        self.toml_table(document.as_table(), "", &mut settings)?;
        Ok(settings)
    }

    fn toml_table(
        &self,
        table: &dyn toml_edit::TableLike,
        prefix: &str,
        settings: &mut Vec<FileSetting>,
    ) -> Result<(), Refusal> {
        for (name, item) in table.iter() {
            let key = joined(prefix, name);
            let span = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
            let line = span.map_or(1, |span| self.line(span.start));
            match item.as_table_like() {
                Some(inner) if is_section(&key) => self.toml_table(inner, &key, settings)?,
                Some(_) => return Err(self.not_a_section(&key, line)),
                None => settings.push(FileSetting { value: toml_value(item), key, line }),
            }
        }
        Ok(())
    }

    fn not_a_section(&self, key: &str, line: usize) -> Refusal {
        match row_of(key) {
            Ok(row) => {
                let why = check(key, row.kind, &Value::object(Vec::new()));
                self.complain(line, &why.err().unwrap_or_default())
            }
            Err(why) => self.complain(line, &why),
        }
    }

    fn json(&self) -> Result<Vec<FileSetting>, Refusal> {
        let options = ParseOptions {
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_loose_object_property_names: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
            ..ParseOptions::default()
        };
        let parsed = parse_to_ast(self.text, &CollectOptions::default(), &options)
            .map_err(|error| self.complain(error.line_display(), &error.kind().to_string()))?;
        let mut settings = Vec::new();
        match parsed.value {
            None => {}
            Some(Jsonc::Object(object)) => self.json_object(&object, "", &mut settings)?,
            Some(_) => return Err(self.complain(1, "the configuration must be a JSON object")),
        }
        Ok(settings)
    }

    fn json_object(
        &self,
        object: &jsonc_parser::ast::Object<'_>,
        prefix: &str,
        settings: &mut Vec<FileSetting>,
    ) -> Result<(), Refusal> {
        for property in &object.properties {
            let name = property.name.as_str();
            let line = self.line(property.range.start);
            if prefix.is_empty() && name == "$schema" {
                continue;
            }
            let key = joined(prefix, name);
            match &property.value {
                Jsonc::Object(inner) if is_section(&key) => {
                    self.json_object(inner, &key, settings)?;
                }
                Jsonc::Object(_) => return Err(self.not_a_section(&key, line)),
                value => {
                    settings.push(FileSetting { value: json_value(value), key, line });
                }
            }
        }
        Ok(())
    }
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

fn toml_value(item: &Item) -> Value {
    match item.as_value() {
        Some(Toml::String(text)) => Value::string(text.value()),
        Some(Toml::Boolean(flag)) => Value::bool(*flag.value()),
        Some(Toml::Integer(number)) => omx_store::json::parse_valid(&number.value().to_string()),
        Some(Toml::Float(number)) => omx_store::json::parse_valid(&number.value().to_string()),
        Some(Toml::Array(items)) => Value::array(
            items.iter().map(|value| toml_value(&Item::Value(value.clone()))).collect(),
        ),
        Some(Toml::Datetime(time)) => Value::string(&time.value().to_string()),
        _ => Value::null(),
    }
}

fn json_value(value: &Jsonc<'_>) -> Value {
    match value {
        Jsonc::StringLit(text) => Value::string(&text.value),
        Jsonc::NumberLit(number) => omx_store::json::parse_valid(number.value),
        Jsonc::BooleanLit(flag) => Value::bool(flag.value),
        Jsonc::Array(items) => Value::array(items.elements.iter().map(json_value).collect()),
        Jsonc::Object(_) | Jsonc::NullKeyword(_) => Value::null(),
    }
}

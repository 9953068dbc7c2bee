//! The plain values that results are made of.

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::place::Place;
use super::problem::ResultProblem;
use super::record::Field;

/// A text that says something: never blank.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Text(String);

impl Text {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Field for Text {
    type Shown<'a> = &'a str;

    fn schema() -> Value {
        String::schema()
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        if Self::is_none(&value) && value.is_string() {
            return Err(ResultProblem::wrong(place, "a text that is not blank", &value));
        }
        String::read(value, place).map(Self)
    }

    fn is_none(value: &Value) -> bool {
        value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty())
    }

    fn shown(&self) -> &str {
        &self.0
    }
}

/// A file as an agent named it: no path that climbs. It may be absolute;
/// whether it lies in the agent's folder is for those to judge who know that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct FilePath(String);

impl FilePath {
    /// The path.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Field for FilePath {
    type Shown<'a> = &'a Path;

    fn schema() -> Value {
        String::schema()
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        // Both separators, whatever the system: an agent may write either.
        let climbs = |path: &str| path.split(['/', '\\']).any(|part| part.trim() == "..");
        match value.as_str() {
            Some(path) if path.trim().is_empty() || climbs(path) || path.contains('\0') => {
                Err(ResultProblem::wrong(place, "the path of a file, without \"..\"", &value))
            }
            _ => String::read(value, place).map(Self),
        }
    }

    fn shown(&self) -> &Path {
        self.as_path()
    }
}

/// A line of a file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct LineNumber(u32);

impl Field for LineNumber {
    type Shown<'a> = u32;

    fn schema() -> Value {
        i64::schema()
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        let line = value.as_u64().filter(|line| *line > 0);
        let line = line.and_then(|line| u32::try_from(line).ok()).map(Self);
        line.ok_or_else(|| ResultProblem::wrong(place, "a line number from 1 on, or null", &value))
    }

    fn shown(&self) -> u32 {
        self.0
    }
}

impl Field for String {
    type Shown<'a> = &'a str;

    fn schema() -> Value {
        json!({"type": "string"})
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        match value {
            Value::String(text) => Ok(text),
            _ => Err(ResultProblem::wrong(place, "a text", &value)),
        }
    }

    fn shown(&self) -> &str {
        self
    }
}

impl Field for bool {
    type Shown<'a> = Self;

    fn schema() -> Value {
        json!({"type": "boolean"})
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        value.as_bool().ok_or_else(|| ResultProblem::wrong(place, "true or false", &value))
    }

    fn shown(&self) -> Self {
        *self
    }
}

impl Field for i64 {
    type Shown<'a> = Self;

    fn schema() -> Value {
        json!({"type": "integer"})
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        value.as_i64().ok_or_else(|| ResultProblem::wrong(place, "a whole number", &value))
    }

    fn shown(&self) -> Self {
        *self
    }
}

/// A field that may be null, left out, or blank where it is a text.
impl<T: Field> Field for Option<T> {
    type Shown<'a>
        = Option<T::Shown<'a>>
    where
        T: 'a;

    fn schema() -> Value {
        let mut schema = T::schema();
        if let Some(kind) = schema.get_mut("type") {
            *kind = json!([kind.take(), "null"]);
        }
        schema
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        if T::is_none(&value) { Ok(None) } else { T::read(value, place).map(Some) }
    }

    fn absent(_: &Place<'_>) -> Result<Self, ResultProblem> {
        Ok(None)
    }

    fn shown(&self) -> Option<T::Shown<'_>> {
        self.as_ref().map(T::shown)
    }
}

impl<T: Field> Field for Vec<T> {
    type Shown<'a>
        = &'a [T]
    where
        T: 'a;

    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }

    fn read(value: Value, place: &Place<'_>) -> Result<Self, ResultProblem> {
        let Value::Array(items) = value else {
            return Err(ResultProblem::wrong(place, "a list", &value));
        };
        let items = items.into_iter().enumerate();
        items.map(|(at, item)| T::read(item, &Place::Item(place, at))).collect()
    }

    fn shown(&self) -> &[T] {
        self
    }
}

//! The keys of one table, asked for by name and kind.

use std::ops::RangeInclusive;

use super::node::{Data, Field, Node, Wrong};

/// A table in which every key is known.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    what: &'static str,
    line: usize,
    fields: &'a [Field],
}

impl<'a> Fields<'a> {
    /// Takes a table that has these keys and no others.
    pub(super) fn of(node: &'a Node, what: &'static str, known: &[&str]) -> Result<Self, Wrong> {
        let Data::Table(fields) = &node.data else {
            let why = format!("{what} must be a table, not {}", node.kind());
            return Err(Wrong::at(node.line, why));
        };
        let foreign = fields.iter().find(|field| !known.contains(&field.name.as_str()));
        if let Some(field) = foreign {
            let why = format!("unknown key {:?} in {what}; there is {}", field.name, all(known));
            return Err(Wrong::at(field.line, why));
        }
        Ok(Self { what, line: node.line, fields })
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// All keys, in the order of the file.
    pub(super) fn all(&self) -> &'a [Field] {
        self.fields
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// A key that must be there.
    pub(super) fn need(&self, name: &str) -> Result<&'a Field, Wrong> {
        let missing = || Wrong::at(self.line, format!("{} needs {name:?}", self.what));
        self.get(name).ok_or_else(missing)
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Wrong> {
        self.get(name).map(text).transpose()
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Wrong> {
        let Some(field) = self.get(name) else { return Ok(None) };
        match field.node.data {
            Data::Flag(flag) => Ok(Some(flag)),
            _ => Err(must_be(field, "true or false")),
        }
    }

    pub(super) fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, Wrong> {
        self.get(name).map(|field| number(field, range)).transpose()
    }
}

/// The text of a key.
pub(super) fn text(field: &Field) -> Result<&str, Wrong> {
    match &field.node.data {
        Data::Text(text) => Ok(text),
        _ => Err(must_be(field, "text")),
    }
}

/// The text of a key that says something.
pub(super) fn word(field: &Field) -> Result<&str, Wrong> {
    let text = text(field)?;
    if text.is_empty() {
        return Err(Wrong::at(field.node.line, format!("{:?} must not be empty", field.name)));
    }
    Ok(text)
}

/// The number of a key.
pub(super) fn number(field: &Field, range: RangeInclusive<u64>) -> Result<u64, Wrong> {
    let (low, high) = (range.start(), range.end());
    let Data::Number(number) = &field.node.data else {
        return Err(must_be(field, &format!("a whole number from {low} to {high}")));
    };
    match number.as_u64().filter(|number| range.contains(number)) {
        Some(number) => Ok(number),
        None => {
            let name = &field.name;
            let why = format!("{name:?} must be a whole number from {low} to {high}, not {number}");
            Err(Wrong::at(field.node.line, why))
        }
    }
}

/// The list of a key.
pub(super) fn list<'a>(field: &'a Field, of: &str) -> Result<&'a [Node], Wrong> {
    match &field.node.data {
        Data::List(items) if items.is_empty() => {
            Err(Wrong::at(field.line, format!("{:?} is empty; it is a list of {of}", field.name)))
        }
        Data::List(items) => Ok(items),
        _ => Err(must_be(field, &format!("a list of {of}"))),
    }
}

pub(super) fn must_be(field: &Field, what: &str) -> Wrong {
    let (name, kind) = (&field.name, field.node.kind());
    Wrong::at(field.node.line, format!("{name:?} must be {what}, not {kind}"))
}

/// Names in a sentence.
pub(super) fn all(names: &[&str]) -> String {
    names.join(", ")
}

//! One tree for both languages, in which everything knows its line.

use std::fmt;

use serde_json::{Number, Value};

/// A mistake, with its line; the file is known further up.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) message: String,
}

impl Wrong {
    pub(super) fn at(line: usize, message: impl fmt::Display) -> Self {
        Self { line, message: message.to_string() }
    }
}

/// A value of the file.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) data: Data,
}

#[derive(Debug)]
pub(super) enum Data {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Table(Vec<Field>),
    /// Something only one of the languages has, in words.
    Foreign(&'static str),
}

/// A key with its value.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) node: Node,
}

/// Deeper values could not be told as one line of JSON.
const DEEPEST: usize = 64;

impl Node {
    /// What it is, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "null",
            Data::Flag(_) => "true or false",
            Data::Number(number) if number.is_f64() => "a number with a fraction",
            Data::Number(_) => "a number",
            Data::Text(_) => "text",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
            Data::Foreign(what) => what,
        }
    }

    /// The same as plain JSON.
    pub(super) fn value(&self) -> Result<Value, Wrong> {
        self.value_within(DEEPEST)
    }

    fn value_within(&self, depth: usize) -> Result<Value, Wrong> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Wrong::at(self.line, format!("nested deeper than {DEEPEST} levels")));
        };
        Ok(match &self.data {
            Data::Null => Value::Null,
            Data::Flag(flag) => Value::Bool(*flag),
            Data::Number(number) => Value::Number(number.clone()),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => {
                let items = items.iter().map(|item| item.value_within(depth));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Data::Table(fields) => {
                let fields = fields
                    .iter()
                    .map(|field| Ok((field.name.clone(), field.node.value_within(depth)?)));
                Value::Object(fields.collect::<Result<_, _>>()?)
            }
            Data::Foreign(what) => {
                return Err(Wrong::at(self.line, format!("{what} has no form in JSON")));
            }
        })
    }
}

/// Turns offsets into lines.
#[derive(Debug)]
pub(super) struct Lines {
    /// Where each line but the first begins.
    begins: Vec<usize>,
}

impl Lines {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Self { begins: ends.map(|(at, _)| at + 1).collect() }
    }

    /// The line of an offset, counted from 1.
    pub(super) fn at(&self, offset: usize) -> usize {
        1 + self.begins.partition_point(|begin| *begin <= offset)
    }
}

//! TOML into the common tree.

use std::ops::Range;

use serde_json::Number;
use toml_edit::{Document, Item, Key, TableLike, Value};

use super::node::{Data, Field, Lines, Node, Wrong};

/// Reads a text.
pub(super) fn read(text: &str, lines: &Lines) -> Result<Node, Wrong> {
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| lines.at(span.start));
        Wrong::at(line, error.message())
    })?;
    Ok(Node { line: 1, data: Reader { lines }.table(document.as_table(), 1) })
}

struct Reader<'a> {
    lines: &'a Lines,
}

impl Reader<'_> {
    fn line(&self, span: Option<Range<usize>>, otherwise: usize) -> usize {
        span.map_or(otherwise, |span| self.lines.at(span.start))
    }

    fn table(&self, table: &dyn TableLike, line: usize) -> Data {
        let fields = table.iter().map(|(name, item)| {
            let span = table.key(name).and_then(Key::span).or_else(|| item.span());
            let line = self.line(span, line);
            Field { name: name.to_owned(), line, node: self.item(item, line) }
        });
        Data::Table(fields.collect())
    }

    /// A value stands in the line of its key unless it says otherwise.
    fn item(&self, item: &Item, key: usize) -> Node {
        match item {
            Item::None => Node { line: key, data: Data::Null },
            Item::Value(value) => self.value(value, key),
            Item::Table(table) => {
                let line = self.line(table.span(), key);
                Node { line, data: self.table(table, line) }
            }
            Item::ArrayOfTables(tables) => {
                let tables = tables.iter().map(|table| {
                    let line = self.line(table.span(), key);
                    Node { line, data: self.table(table, line) }
                });
                Node { line: key, data: Data::List(tables.collect()) }
            }
        }
    }

    fn value(&self, value: &Value, key: usize) -> Node {
        let line = self.line(value.span(), key);
        let data = match value {
            Value::String(text) => Data::Text(text.value().clone()),
            Value::Integer(number) => Data::Number((*number.value()).into()),
            Value::Float(number) => match Number::from_f64(*number.value()) {
                Some(number) => Data::Number(number),
                None => Data::Foreign("a number out of range"),
            },
            Value::Boolean(flag) => Data::Flag(*flag.value()),
            // Both languages can write it as text.
            Value::Datetime(time) => Data::Text(time.value().to_string()),
            Value::Array(items) => {
                Data::List(items.iter().map(|item| self.value(item, line)).collect())
            }
            Value::InlineTable(table) => self.table(table, line),
        };
        Node { line, data }
    }
}

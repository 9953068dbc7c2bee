//! JSON, with comments, into the common tree.

use std::str::FromStr;

use jsonc_parser::ast::Value as Jsonc;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Number;

use super::node::{Data, Field, Lines, Node, Wrong};

/// Reads a text.
pub(super) fn read(text: &str, lines: &Lines) -> Result<Node, Wrong> {
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
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| Wrong::at(lines.at(error.range().start), error.kind()))?;
    match parsed.value {
        Some(value) => node(&value, lines),
        None => Ok(Node { line: 1, data: Data::Null }),
    }
}

fn node(value: &Jsonc<'_>, lines: &Lines) -> Result<Node, Wrong> {
    let line = lines.at(value.range().start);
    let data = match value {
        Jsonc::StringLit(text) => Data::Text(text.value.clone().into_owned()),
        Jsonc::NumberLit(number) => match Number::from_str(number.value) {
            Ok(number) => Data::Number(number),
            Err(_) => Data::Foreign("a number out of range"),
        },
        Jsonc::BooleanLit(flag) => Data::Flag(flag.value),
        Jsonc::NullKeyword(_) => Data::Null,
        Jsonc::Array(items) => {
            let items = items.elements.iter().map(|item| node(item, lines));
            Data::List(items.collect::<Result<_, _>>()?)
        }
        Jsonc::Object(object) => {
            let mut fields: Vec<Field> = Vec::new();
            for property in &object.properties {
                let (name, line) = (property.name.as_str(), lines.at(property.range.start));
                // TOML refuses this by itself.
                if fields.iter().any(|field| field.name == name) {
                    return Err(Wrong::at(line, format!("{name:?} stands here twice")));
                }
                let node = node(&property.value, lines)?;
                fields.push(Field { name: name.to_owned(), line, node });
            }
            Data::Table(fields)
        }
    };
    Ok(Node { line, data })
}

//! Reads and writes JSON without changing it: fields keep their order and values keep
//! their bytes. `serde_json` checks the syntax; this module adds only what it lacks.

use std::fmt;

use omx_kernel::value::{Shape, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object, in order, as written.
struct RawFields<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::with_capacity(16);
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Fields).map(RawFields)
    }
}

/// Parses an object. The values of fields that `is_read` rejects stay opaque.
pub fn parse_object(
    text: &str,
    is_read: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Value)>, String> {
    fields(text, |name, raw| {
        if is_read(name) { parse_valid(raw) } else { Value::from_parts(raw, Shape::Opaque) }
    })
}

fn fields(
    text: &str,
    parse_field: impl Fn(&str, &str) -> Value,
) -> Result<Vec<(String, Value)>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let RawFields(fields) = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(fields
        .into_iter()
        .map(|(spelled, raw)| {
            let name = name(spelled.get());
            let value = parse_field(&name, raw.get());
            // Only a name with escapes can be written in more than one way.
            let is_plain = !spelled.get().contains('\\');
            (name, if is_plain { value } else { value.with_spelling(spelled.get()) })
        })
        .collect())
}

/// The name that a string literal denotes. One that Rust cannot represent denotes itself.
fn name(literal: &str) -> String {
    let inner = literal.get(1..literal.len().saturating_sub(1)).unwrap_or_default();
    if inner.contains('\\') {
        serde_json::from_str(literal).unwrap_or_else(|_| inner.to_owned())
    } else {
        inner.to_owned()
    }
}

/// Values nested deeper than this stay opaque. A request and its `state` wrap the deepest
/// allowed document.
const DEEPEST: usize = crate::MAX_DEPTH + 2;

/// Parses a value whose JSON is known to be valid. A value that Rust cannot represent (a
/// lone surrogate) or that is nested too deeply is opaque and keeps its text.
pub fn parse_valid(text: &str) -> Value {
    if text.starts_with(['[', '{']) && nesting_depth(text) > DEEPEST {
        return Value::from_parts(text, Shape::Opaque);
    }
    parse_shape(text)
}

fn parse_shape(text: &str) -> Value {
    let shape = match text.as_bytes().first() {
        Some(b'n') => Shape::Null,
        Some(b't') => Shape::Bool(true),
        Some(b'f') => Shape::Bool(false),
        Some(b'"') => serde_json::from_str(text).map_or(Shape::Opaque, Shape::String),
        Some(b'[') => serde_json::from_str::<Vec<&RawValue>>(text).map_or(Shape::Opaque, |items| {
            Shape::Array(items.into_iter().map(|item| parse_shape(item.get())).collect())
        }),
        Some(b'{') => fields(text, |_, raw| parse_shape(raw)).map_or(Shape::Opaque, Shape::Object),
        _ => text.parse().map_or(Shape::Number, Shape::Integer),
    };
    Value::from_parts(text, shape)
}

/// Parses any JSON value.
pub fn parse(text: &str) -> Result<Value, String> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(parse_valid(raw.get()))
}

/// The nesting depth of a text, by its brackets outside strings. Counted before parsing,
/// so that callers never depend on a parser's own limit.
pub fn nesting_depth(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    walk(text, |piece| match piece {
        Piece::Open => {
            depth += 1;
            deepest = deepest.max(depth);
        }
        Piece::Close => depth = depth.saturating_sub(1),
        _ => {}
    });
    deepest
}

/// The same text without whitespace between its tokens.
pub fn compact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    walk(text, |piece| match piece {
        Piece::Open | Piece::Close | Piece::Comma | Piece::Colon => {}
        Piece::Raw(raw) => out.push_str(raw),
    });
    out
}

/// The same text with one field or item per line.
pub fn pretty(text: &str) -> String {
    let compact = compact(text);
    let mut out = String::with_capacity(compact.len() * 2);
    let mut level = 0_usize;
    let mut rest = Vec::new();
    walk(&compact, |piece| rest.push(piece));
    let indent = |out: &mut String, level: usize| {
        // For deeper nesting, indentation would outgrow the text.
        if level <= DEEPEST {
            out.push('\n');
            out.extend(std::iter::repeat_n("  ", level));
        }
    };
    let mut previous_opened = false;
    for piece in rest {
        let Piece::Raw(raw) = piece else { continue };
        match raw {
            "{" | "[" => {
                if previous_opened {
                    indent(&mut out, level);
                }
                out.push_str(raw);
                level += 1;
                previous_opened = true;
            }
            "}" | "]" => {
                level = level.saturating_sub(1);
                if !previous_opened {
                    indent(&mut out, level);
                }
                out.push_str(raw);
                previous_opened = false;
            }
            "," => {
                out.push(',');
                indent(&mut out, level);
            }
            ":" => out.push_str(": "),
            token => {
                if previous_opened {
                    indent(&mut out, level);
                }
                out.push_str(token);
                previous_opened = false;
            }
        }
    }
    out
}

/// The text of a document as it is stored: one field per line, every value unchanged.
pub fn document_text(fields: &[(String, Value)]) -> String {
    let mut out = String::from("{");
    for (index, (name, value)) in fields.iter().enumerate() {
        out.push_str(if index == 0 { "\n  " } else { ",\n  " });
        omx_kernel::value::push_name(&mut out, name, value);
        out.push_str(": ");
        out.push_str(value.as_json());
    }
    out.push_str(if fields.is_empty() { "}\n" } else { "\n}\n" });
    out
}

/// What a walk over JSON text visits: structure, and the raw text of every token.
enum Piece<'a> {
    Open,
    Close,
    Comma,
    Colon,
    Raw(&'a str),
}

/// Visits the tokens of a JSON text. A structural token is visited twice: as what it is,
/// and as its text. On text that is not JSON it still ends and never panics.
fn walk<'a>(text: &'a str, mut visit: impl FnMut(Piece<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += 1;
        match bytes[start] {
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            b'{' | b'[' => visit(Piece::Open),
            b'}' | b']' => visit(Piece::Close),
            b',' => visit(Piece::Comma),
            b':' => visit(Piece::Colon),
            b'"' => {
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                at = (at + 1).min(bytes.len());
            }
            _ => {
                let ends = |byte: u8| b" \t\n\r{}[],:\"".contains(&byte);
                while at < bytes.len() && !ends(bytes[at]) {
                    at += 1;
                }
            }
        }
        visit(Piece::Raw(text.get(start..at).unwrap_or_default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str =
        r#"{"z":18446744073709551617,"a":1.10,"s":"\ud800","e":1e400,"o":{"b":1,"a":[ 1, 2 ]}}"#;

    #[test]
    fn state_2_2_values_keep_their_bytes_and_their_order() {
        let fields = parse_object(ODD, |_| true).unwrap();
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a", "s", "e", "o"]);
        let texts: Vec<&str> = fields.iter().map(|(_, value)| value.as_json()).collect();
        assert_eq!(
            texts,
            ["18446744073709551617", "1.10", r#""\ud800""#, "1e400", r#"{"b":1,"a":[ 1, 2 ]}"#]
        );
        assert_eq!(compact(&document_text(&fields)), compact(ODD));
    }

    #[test]
    fn depth_counts_brackets_outside_strings_only() {
        assert_eq!(nesting_depth("1"), 0);
        assert_eq!(nesting_depth(r#"{"a":[{"b":"]]][[["}]}"#), 3);
        assert_eq!(nesting_depth(&"[".repeat(100_000)), 100_000);
        assert_eq!(nesting_depth(r#""\"[[[""#), 0);
    }

    #[test]
    fn excessive_nesting_is_kept_but_not_parsed() {
        let levels = 1_000_000;
        let deep = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(parse_valid(&deep).as_json(), deep);
        assert!(pretty(&deep).len() < 2 * deep.len());
        let fields = parse_object(&format!("{{\"a\":{deep}}}"), |_| true).unwrap();
        assert_eq!(fields[0].1.as_json(), deep);
        let fits = format!("{}1{}", "[".repeat(crate::MAX_DEPTH), "]".repeat(crate::MAX_DEPTH));
        let mut inner = &parse_valid(&fits);
        while let Some([item]) = inner.as_array() {
            inner = item;
        }
        assert_eq!(inner.as_u64(), Some(1), "a document of the allowed depth is parsed");
    }

    #[test]
    fn pretty_and_compact_text_have_the_same_tokens() {
        let text = r#"{"a":{},"b":[],"c":[1,{"d":"x y"}],"e":[[]]}"#;
        let pretty = pretty(text);
        assert_eq!(compact(&pretty), text);
        assert_eq!(
            pretty,
            "{\n  \"a\": {},\n  \"b\": [],\n  \"c\": [\n    1,\n    {\n      \"d\": \"x y\"\n    }\n  ],\n  \"e\": [\n    []\n  ]\n}"
        );
    }

    #[test]
    fn any_text_is_walked_without_a_panic() {
        for text in ["\"", "\"\\", "\"é", "{\"a", "}]", "\u{feff}{}", "tru", "é\"é"] {
            nesting_depth(text);
            compact(text);
            pretty(text);
        }
    }
}

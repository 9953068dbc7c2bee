//! JSON values for the rules: the exact text together with its meaning.
//!
//! Documents carry values that belong to other programs. Parsing and printing such a value
//! would change it: `1.10` becomes `1.1`, and a lone surrogate cannot be represented at
//! all. A [`Value`] therefore keeps its original text, and its [`Shape`] is only what the
//! rules may rely on.

use std::fmt::Write as _;

/// A JSON value: its text, byte for byte, and its meaning to the rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    text: Box<str>,
    shape: Shape,
    /// The original spelling of the name of the field that holds it, including quotes, if
    /// omx would spell it differently (`"a\/b"`, a lone surrogate).
    spelling: Option<Box<str>>,
}

/// The meaning of a value to the rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer from 0 to 2^64-1, written without fraction or exponent.
    Integer(u64),
    /// Any other number.
    Number,
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Value>),
    /// An object, in its original order.
    Object(Vec<(String, Value)>),
    /// A value that no rule reads, or that cannot be represented.
    Opaque,
}

impl Value {
    /// Creates a value from its text and its shape. The caller guarantees that they agree;
    /// only the parser at the edge and the constructors below use this.
    pub fn from_parts(text: impl Into<Box<str>>, shape: Shape) -> Self {
        Self { text: text.into(), shape, spelling: None }
    }

    /// Returns the same value, for a field whose name has this spelling.
    pub fn with_spelling(self, spelling: &str) -> Self {
        Self { spelling: Some(spelling.into()), ..self }
    }

    /// `null`
    pub fn null() -> Self {
        Self::from_parts("null", Shape::Null)
    }

    /// `true` or `false`
    pub fn bool(value: bool) -> Self {
        Self::from_parts(if value { "true" } else { "false" }, Shape::Bool(value))
    }

    /// A counter.
    pub fn integer(value: u64) -> Self {
        Self::from_parts(value.to_string(), Shape::Integer(value))
    }

    /// A string.
    pub fn string(value: &str) -> Self {
        let mut text = String::with_capacity(value.len() + 2);
        push_quoted(&mut text, value);
        Self::from_parts(text, Shape::String(value.to_owned()))
    }

    /// A string, or `null`.
    pub fn string_or_null(value: Option<&str>) -> Self {
        value.map_or_else(Self::null, Self::string)
    }

    /// An array.
    pub fn array(items: Vec<Value>) -> Self {
        let mut text = String::from("[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&item.text);
        }
        text.push(']');
        Self::from_parts(text, Shape::Array(items))
    }

    /// An array of strings.
    pub fn strings<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::array(items.into_iter().map(|item| Self::string(item.as_ref())).collect())
    }

    /// An object with these fields in this order.
    pub fn object(fields: Vec<(String, Value)>) -> Self {
        // A name takes two quotes, a colon and a comma. One that needs escapes may take
        // more, and then the text grows.
        let length = fields.iter().map(|(name, value)| name.len() + value.text.len() + 4);
        let mut text = String::with_capacity(length.sum::<usize>().max(1) + 1);
        text.push('{');
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            push_name(&mut text, name, value);
            text.push(':');
            text.push_str(&value.text);
        }
        text.push('}');
        Self::from_parts(text, Shape::Object(fields))
    }

    /// An object with fixed field names.
    pub fn record<const N: usize>(fields: [(&str, Value); N]) -> Self {
        Self::object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The exact JSON text.
    pub fn as_json(&self) -> &str {
        &self.text
    }

    /// The meaning to the rules.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.shape == Shape::Null
    }

    /// The bool, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Shape::Bool(value) = self.shape { Some(value) } else { None }
    }

    /// The integer, if it is one from 0 to 2^64-1.
    pub fn as_u64(&self) -> Option<u64> {
        if let Shape::Integer(value) = self.shape { Some(value) } else { None }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Shape::String(value) = &self.shape { Some(value) } else { None }
    }

    /// The items, if it is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Shape::Array(items) = &self.shape { Some(items) } else { None }
    }

    /// The fields, if it is an object.
    pub fn as_object(&self) -> Option<&[(String, Value)]> {
        if let Shape::Object(fields) = &self.shape { Some(fields) } else { None }
    }

    /// The fields, if it is an object, or else the value itself.
    pub fn into_object(self) -> Result<Vec<(String, Value)>, Self> {
        match self.shape {
            Shape::Object(fields) => Ok(fields),
            shape => Err(Self { shape, ..self }),
        }
    }

    /// Returns a field, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        last_field(self.as_object()?, name)
    }

    /// Returns this object with the given fields merged into it: existing ones keep their
    /// place, new ones come last.
    pub fn merged(&self, over: &[(String, Value)]) -> Value {
        let mut fields = self.as_object().unwrap_or_default().to_vec();
        for (name, value) in over {
            set_field(&mut fields, name, value.clone());
        }
        Value::object(fields)
    }
}

/// Returns the last field of that name: of duplicates the last one counts.
pub(crate) fn last_field<'a>(fields: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// Sets a field in its place, or appends it. Removes duplicates.
pub(crate) fn set_field(fields: &mut Vec<(String, Value)>, name: &str, value: Value) {
    match fields.iter().rposition(|(key, _)| key == name) {
        Some(place) => {
            let spelling = fields[place].1.spelling.take();
            fields[place].1 = value;
            if spelling.is_some() {
                fields[place].1.spelling = spelling;
            }
            let mut index = 0;
            fields.retain(|(key, _)| {
                index += 1;
                key != name || index - 1 == place
            });
        }
        None => fields.push((name.to_owned(), value)),
    }
}

/// Appends the name of the field that holds this value, in its original spelling.
pub fn push_name(out: &mut String, name: &str, value: &Value) {
    match &value.spelling {
        Some(spelling) => out.push_str(spelling),
        None => push_quoted(out, name),
    }
}

/// Appends a JSON string literal.
pub fn push_quoted(out: &mut String, value: &str) {
    out.push('"');
    let mut rest = value;
    // Almost all of a text needs no escape, and copies in long runs. Only ASCII is
    // escaped, so every run ends between characters.
    while let Some(at) = rest.bytes().position(|byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        let (plain, escaped) = rest.split_at(at);
        out.push_str(plain);
        match escaped.as_bytes()[0] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => {
                let _ = write!(out, "\\u{control:04x}");
            }
        }
        rest = &escaped[1..];
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duplicate_field_is_set_once_in_its_last_place() {
        let mut fields = vec![
            ("a".to_owned(), Value::integer(1)),
            ("b".to_owned(), Value::integer(2)),
            ("a".to_owned(), Value::integer(3)),
            ("c".to_owned(), Value::integer(4)),
        ];
        set_field(&mut fields, "a", Value::integer(9));
        assert_eq!(Value::object(fields).as_json(), r#"{"b":2,"a":9,"c":4}"#);
    }

    #[test]
    fn strings_are_quoted_as_json() {
        assert_eq!(Value::string("a\"\\\n\u{1}é").as_json(), "\"a\\\"\\\\\\n\\u0001é\"");
    }
}

//! JSON values as the rules see them: the exact text beside its meaning.
//!
//! Documents carry values that belong to other programs. Parsing such a value
//! into numbers and strings and printing it again changes it (`1.10` becomes
//! `1.1`, a lone surrogate cannot be held at all). So a [`Value`] keeps the
//! text it came with, and its [`Shape`] only says what the rules may rely on.

use std::fmt::Write as _;

/// One JSON value: its text, byte for byte, and what the rules may know of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Value {
    text: Box<str>,
    shape: Shape,
    /// The name of the field that holds it as its writer spelled it, quotes
    /// included, where that is not how omx would (`"a\/b"`, a lone surrogate).
    spelling: Option<Box<str>>,
}

/// What a value means to the rules.
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
    /// An object, in the order it was written.
    Object(Vec<(String, Value)>),
    /// A value nobody looks into: foreign, or not representable here.
    Opaque,
}

impl Value {
    /// Joins a text with its meaning. The caller vouches that they agree: only
    /// the parser at the edge and the constructors below make values.
    pub fn from_parts(text: &str, shape: Shape) -> Self {
        Self { text: text.into(), shape, spelling: None }
    }

    /// The same value in a field whose name was spelled like this.
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
        Self::from_parts(&value.to_string(), Shape::Integer(value))
    }

    /// A string.
    pub fn string(value: &str) -> Self {
        let mut text = String::with_capacity(value.len() + 2);
        push_quoted(&mut text, value);
        Self::from_parts(&text, Shape::String(value.to_owned()))
    }

    /// A string, or `null` when there is none.
    pub fn string_or_null(value: Option<&str>) -> Self {
        value.map_or_else(Self::null, Self::string)
    }

    /// An array of values.
    pub fn array(items: Vec<Value>) -> Self {
        let mut text = String::from("[");
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push_str(&item.text);
        }
        text.push(']');
        Self::from_parts(&text, Shape::Array(items))
    }

    /// An array of strings.
    pub fn strings<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Self {
        Self::array(items.into_iter().map(|item| Self::string(item.as_ref())).collect())
    }

    /// An object with these fields in this order.
    pub fn object(fields: Vec<(String, Value)>) -> Self {
        let mut text = String::from("{");
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            push_name(&mut text, name, value);
            text.push(':');
            text.push_str(&value.text);
        }
        text.push('}');
        Self::from_parts(&text, Shape::Object(fields))
    }

    /// An object from names known when the program was written.
    pub fn record<const N: usize>(fields: [(&str, Value); N]) -> Self {
        Self::object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// The exact JSON text.
    pub fn as_json(&self) -> &str {
        &self.text
    }

    /// What the rules may know of it.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        self.shape == Shape::Null
    }

    /// The bool it is, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Shape::Bool(value) = self.shape { Some(value) } else { None }
    }

    /// The counter it is, if it is one.
    pub fn as_u64(&self) -> Option<u64> {
        if let Shape::Integer(value) = self.shape { Some(value) } else { None }
    }

    /// The string it is, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Shape::String(value) = &self.shape { Some(value) } else { None }
    }

    /// The items it has, if it is an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        if let Shape::Array(items) = &self.shape { Some(items) } else { None }
    }

    /// The fields it has, if it is an object.
    pub fn as_object(&self) -> Option<&[(String, Value)]> {
        if let Shape::Object(fields) = &self.shape { Some(fields) } else { None }
    }

    /// The field of that name, if this is an object that has it.
    pub fn get(&self, name: &str) -> Option<&Value> {
        last_field(self.as_object()?, name)
    }

    /// This object with the given fields put over its own: those already
    /// there keep their place, the others come last.
    pub fn merged(&self, over: &[(String, Value)]) -> Value {
        let mut fields = self.as_object().unwrap_or_default().to_vec();
        for (name, value) in over {
            set_field(&mut fields, name, value.clone());
        }
        Value::object(fields)
    }
}

/// The last field of that name: where a name stands twice, the last one counts.
pub(crate) fn last_field<'a>(fields: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// Sets a field where it stands, or at the end; never leaves it there twice.
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

/// Appends the name of the field that holds this value.
pub fn push_name(out: &mut String, name: &str, value: &Value) {
    match &value.spelling {
        Some(spelling) => out.push_str(spelling),
        None => push_quoted(out, name),
    }
}

/// Appends a JSON string literal.
pub fn push_quoted(out: &mut String, value: &str) {
    out.push('"');
    for character in value.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if (control as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", control as u32);
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_stands_twice_is_set_once_in_its_last_place() {
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
    fn strings_are_quoted_as_json_wants() {
        assert_eq!(Value::string("a\"\\\n\u{1}é").as_json(), "\"a\\\"\\\\\\n\\u0001é\"");
    }
}

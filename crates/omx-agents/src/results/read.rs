//! Reads JSON into a result type: bounded in size and depth, no repeated or
//! unknown field, and every error names its path.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde_json::Value;

use super::problem::ResultProblem;

/// The size limit of a result, in bytes of JSON.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// The nesting limit of a result.
pub(super) const MAX_DEPTH: usize = 32;

/// Parses JSON within the limits, without looking at its meaning.
pub(super) fn parse_json(text: &str) -> Result<Value, ResultProblem> {
    if text.len() > MAX_BYTES {
        return Err(ResultProblem::TooBig);
    }
    if nesting(text) > MAX_DEPTH {
        return Err(ResultProblem::TooDeep);
    }
    serde_json::from_str(text).map_err(|error| ResultProblem::NotJson { detail: error.to_string() })
}

/// Reads valid JSON as a result type. It reads the text and not a parsed
/// [`Value`], which would have dropped repeated fields.
pub(super) fn read_typed<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, ResultProblem> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let result: Result<Object<T>, _> = serde_path_to_error::deserialize(&mut deserializer);
    result.map(|object| object.0).map_err(|error| {
        let inner = error.inner();
        let position = format!(" at line {} column {}", inner.line(), inner.column());
        let message = inner.to_string();
        // The path says more, and also fits a result that was never text.
        let detail = message.strip_suffix(&position).unwrap_or(&message);
        ResultProblem::invalid(&error.path().to_string(), detail)
    })
}

/// Reads the name of a variant. Serde would also take the object `{"NAME": null}` for one.
pub(super) fn variant_name<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let text = String::deserialize(deserializer)?;
    T::deserialize(text.into_deserializer())
}

/// How deeply lists and objects are nested. Exact for valid JSON.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut is_escaped) = (false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A value written as a JSON object. serde also reads a struct from a list of
/// its values, which no schema of ours allows.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// Reads a list of objects.
pub(super) fn objects<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|object| object.0).collect())
}

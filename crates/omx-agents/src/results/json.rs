//! JSON as strictly as a result deserves: no field twice, bounded in size and
//! depth, and what is wrong is told with its place.

use std::cell::RefCell;
use std::{fmt, io};

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::place::Place;
use super::problem::ResultProblem;

/// The most bytes of JSON a result may have.
pub(super) const MAX_BYTES: usize = 1 << 20;
/// The most lists and objects inside each other.
pub(super) const MAX_DEPTH: usize = 32;

/// Reads one JSON value and nothing after it.
pub(super) fn parsed(text: &str) -> Result<Value, ResultProblem> {
    if text.len() > MAX_BYTES {
        return Err(ResultProblem::TooBig);
    }
    let found = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let strict = Strict { place: &Place::Whole, depth: 0, found: &found };
    let value = strict.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| {
        found.take().unwrap_or_else(|| ResultProblem::NotJson { detail: error.to_string() })
    })
}

/// Refuses a value that could not have been read here.
pub(super) fn check_bounds(value: &Value) -> Result<(), ResultProblem> {
    check_depth(value, &Place::Whole, 0)?;
    serde_json::to_writer(Room(MAX_BYTES), value).map_err(|_| ResultProblem::TooBig)
}

fn check_depth(value: &Value, place: &Place<'_>, depth: usize) -> Result<(), ResultProblem> {
    match value {
        Value::Array(_) | Value::Object(_) if depth == MAX_DEPTH => Err(too_deep(place)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| check_depth(item, &Place::Item(place, at), depth + 1)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            check_depth(field, &Place::Field(place, name), depth + 1)
        }),
        _ => Ok(()),
    }
}

fn too_deep(place: &Place<'_>) -> ResultProblem {
    ResultProblem::TooDeep { place: place.words() }
}

/// Takes so many bytes and keeps none.
struct Room(usize);

impl io::Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a value at a place. A problem is left in `found`, because the
/// parser's own error can carry no more than text.
#[derive(Clone, Copy)]
struct Strict<'a> {
    place: &'a Place<'a>,
    depth: usize,
    found: &'a RefCell<Option<ResultProblem>>,
}

impl Strict<'_> {
    fn fail<E: Error>(&self, problem: ResultProblem) -> E {
        let error = E::custom(&problem);
        self.found.replace(Some(problem));
        error
    }

    fn deeper<E: Error>(&self) -> Result<usize, E> {
        let depth = self.depth + 1;
        if depth > MAX_DEPTH { Err(self.fail(too_deep(self.place))) } else { Ok(depth) }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut list = Vec::new();
        loop {
            let place = Place::Item(self.place, list.len());
            match items.next_element_seed(Strict { place: &place, depth, found: self.found })? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let depth = self.deeper()?;
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let place = Place::Field(self.place, &name);
            if object.contains_key(&name) {
                return Err(self.fail(ResultProblem::Twice { place: place.words() }));
            }
            let strict = Strict { place: &place, depth, found: self.found };
            let value = fields.next_value_seed(strict)?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}

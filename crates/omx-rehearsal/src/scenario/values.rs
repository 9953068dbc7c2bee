//! Values of a scenario file that must satisfy more than their type.

use std::fmt;
use std::time::Duration;

use omx_kernel::Timestamp;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounded<const MIN: u64, const MAX: u64>(pub(super) u64);

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Bounded<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(BoundedVisitor::<MIN, MAX>)
    }
}

struct BoundedVisitor<const MIN: u64, const MAX: u64>;

impl<const MIN: u64, const MAX: u64> Visitor<'_> for BoundedVisitor<MIN, MAX> {
    type Value = Bounded<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Self::Value, E> {
        if (MIN..=MAX).contains(&number) {
            Ok(Bounded(number))
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(number), &self))
        }
    }
}

/// A day, in seconds: the longest time that a step may take.
const DAY_S: u64 = 24 * 60 * 60;

/// Milliseconds, a day at most.
pub(super) type Millis = Bounded<0, { DAY_S * 1000 }>;
/// Seconds, a day at most.
pub(super) type Seconds = Bounded<1, DAY_S>;
/// Seconds until a limit ends, a year at most.
pub(super) type LimitSeconds = Bounded<0, { 366 * DAY_S }>;
/// Tokens, or millionths of a dollar.
pub(super) type Amount = Bounded<0, 1_000_000_000_000>;
/// The HTTP status of a failure.
pub(super) type ErrorStatus = Bounded<400, 599>;
/// How often an entry is played.
pub(super) type Times = Bounded<1, 1_000_000>;

impl Millis {
    pub(super) fn duration(self) -> Duration {
        Duration::from_millis(self.0)
    }
}

/// A string that is not empty.
#[derive(Clone, Debug)]
pub(super) struct NonEmpty(pub(super) String);

impl<'de> Deserialize<'de> for NonEmpty {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.is_empty() {
            return Err(D::Error::invalid_value(Unexpected::Str(""), &"a string with content"));
        }
        Ok(Self(text))
    }
}

/// A moment, as a TOML date or as text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) Timestamp);

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match toml::Value::deserialize(deserializer)? {
            toml::Value::String(text) => text,
            toml::Value::Datetime(date) => date.to_string(),
            _ => String::new(),
        };
        let expected = "expected a time such as \"2030-01-31T12:00:00Z\"";
        Timestamp::parse(&text).map(Self).ok_or_else(|| D::Error::custom(expected))
    }
}

/// An object for a model or a tool: a TOML table as JSON.
#[derive(Clone, Debug, Default)]
pub(super) struct JsonObject(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for JsonObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        to_json_object(table, MAX_DEPTH - 1).map(Self).map_err(D::Error::custom)
    }
}

/// JSON readers refuse what is nested much deeper.
const MAX_DEPTH: usize = 64;

fn to_json_object(table: toml::Table, depth: usize) -> Result<Map<String, Value>, String> {
    table.into_iter().map(|(key, value)| Ok((key, to_json(value, depth)?))).collect()
}

/// Converts a value that may be nested this deep.
fn to_json(value: toml::Value, depth: usize) -> Result<Value, String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(format!("nested deeper than {MAX_DEPTH} levels"));
    };
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => Value::Number(number.into()),
        toml::Value::Float(number) => {
            let finite = Number::from_f64(number);
            Value::Number(finite.ok_or_else(|| format!("JSON has no number {number}"))?)
        }
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(items) => {
            let items = items.into_iter().map(|item| to_json(item, depth));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        toml::Value::Table(table) => Value::Object(to_json_object(table, depth)?),
    })
}

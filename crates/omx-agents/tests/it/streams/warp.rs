//! Damages a line that remains JSON.

use omx_testkit::fuzz::{Random, json_value, mutated};
use serde_json::{Value, json};

/// The damaged line; none if it is no longer JSON, which no driver sees.
pub fn warped(rng: &mut Random, line: &Value) -> Option<Value> {
    if rng.one_in(3) {
        return serde_json::from_slice(&mutated(rng, line.to_string().as_bytes())).ok();
    }
    let mut line = line.clone();
    for _ in 0..=rng.below(3) {
        let other = odd(rng);
        let value = anywhere(rng, &mut line);
        match value {
            Value::Object(fields) if rng.one_in(2) => {
                let name = fields.keys().nth(rng.below(fields.len())).cloned();
                fields.remove(&name.unwrap_or_default());
            }
            Value::Array(items) if rng.one_in(2) => items.push(other),
            _ => *value = other,
        }
    }
    Some(line)
}

fn odd(rng: &mut Random) -> Value {
    match rng.below(12) {
        0 => Value::Null,
        1 => json!(u64::MAX),
        2 => json!(i64::MIN),
        3 => json!(1e308),
        4 => json!(-0.5),
        5 => json!("x".repeat(100_000)),
        6 => json!([]),
        7 => json!({}),
        8 => (0..120).fold(json!(1), |inner, _| json!([inner])),
        9 => json!(rng.below(8)),
        _ => serde_json::from_str(&json_value(rng, 4)).unwrap_or(Value::Null),
    }
}

fn anywhere<'a>(rng: &mut Random, value: &'a mut Value) -> &'a mut Value {
    let inner = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if inner == 0 || rng.one_in(4) {
        return value;
    }
    let at = rng.below(inner);
    let chosen = match value {
        Value::Array(items) => items.get_mut(at),
        Value::Object(fields) => fields.values_mut().nth(at),
        _ => None,
    };
    anywhere(rng, chosen.unwrap())
}

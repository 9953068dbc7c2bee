//! A small JSON schema checker. It knows only the keywords that our schemas use
//! and panics on any other, so that none goes unchecked.

use serde_json::Value;

/// Where a value does not match a schema, if anywhere.
pub fn misfit(schema: &Value, value: &Value) -> Option<String> {
    check(schema, value, "").err()
}

fn check(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    for (word, rule) in schema.as_object().expect("a schema is an object") {
        let fits = match word.as_str() {
            "description" => rule.is_string(),
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is(kind, value)),
                kind => is(kind, value),
            },
            "enum" => rule.as_array().unwrap().contains(value),
            "additionalProperties" => {
                assert_eq!(rule, &Value::Bool(false));
                let known = &schema["properties"];
                let fields = value.as_object().into_iter().flatten();
                fields.into_iter().all(|(name, _)| known.get(name).is_some())
            }
            "required" => {
                let mut names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                !value.is_object() || names.all(|name| value.get(name).is_some())
            }
            "properties" => {
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(value) = value.get(name) {
                        check(schema, value, &format!("{at}.{name}"))?;
                    }
                }
                true
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(rule, item, &format!("{at}[]"))?;
                }
                true
            }
            other => panic!("the checker does not know {other:?}"),
        };
        if !fits {
            return Err(format!("{at}: {word}"));
        }
    }
    Ok(())
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("the checker does not know the type {other:?}"),
    }
}

/// Adds null for each absent optional field.
pub fn filled(schema: &Value, mut value: Value) -> Value {
    if let (Some(properties), Value::Object(fields)) =
        (schema.get("properties").and_then(Value::as_object), &mut value)
    {
        for (name, schema) in properties {
            match fields.remove(name) {
                Some(field) => {
                    fields.insert(name.clone(), filled(schema, field));
                }
                None if is_nullable(schema) => {
                    fields.insert(name.clone(), Value::Null);
                }
                None => {}
            }
        }
    }
    if let (Some(schema), Value::Array(items)) = (schema.get("items"), &mut value) {
        *items = std::mem::take(items).into_iter().map(|item| filled(schema, item)).collect();
    }
    value
}

fn is_nullable(schema: &Value) -> bool {
    schema["type"].as_array().is_some_and(|kinds| kinds.contains(&"null".into()))
}

//! JSON schemas in the form that every vendor's strict mode accepts: no
//! references, every field required, no other field allowed, and none of the
//! keywords that only some vendors know. Finer rules are explained in the
//! descriptions and enforced by the reader.

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Keywords that some strict modes reject.
const UNSUPPORTED: [&str; 5] = ["$schema", "title", "default", "format", "minimum"];

/// The strict schema of a result type.
pub(super) fn strict_schema<T: JsonSchema>() -> Value {
    // In the serialized form an absent option is null, so every field is required.
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings.transforms.push(Box::new(RecursiveTransform(make_strict)));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    remove_type_description(&mut schema);
    schema
}

fn make_strict(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    for keyword in UNSUPPORTED {
        fields.remove(keyword);
    }
    if fields.get("type") == Some(&json!("object")) {
        fields.insert("additionalProperties".to_owned(), false.into());
    }
    if let Some(words) = fields.get("oneOf").and_then(words_of_enum) {
        fields.remove("oneOf");
        fields.insert("type".to_owned(), "string".into());
        fields.insert("enum".to_owned(), words);
    }
    // The description of a type says nothing about a list's items that the
    // description of the list does not say.
    if let Some(items) = fields.get_mut("items") {
        remove_type_description(items);
    }
}

fn remove_type_description(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
    }
}

/// The words of an enumeration, which schemars describes one by one.
fn words_of_enum(variants: &Value) -> Option<Value> {
    let word =
        |variant: &Value| variant.as_object().and_then(|it: &Map<_, _>| it.get("const").cloned());
    variants.as_array()?.iter().map(word).collect()
}

//! JSON schemas of the tools' arguments, from the kernel's own tables.

use omx_kernel::fields::{COMMON_FIELDS, FieldKind};
use omx_kernel::{Mode, Value};

type Field = (String, Value);

fn field(name: &str, value: Value) -> Field {
    (name.to_owned(), value)
}

fn typed(kind: &str, description: &str, more: Vec<Field>) -> Value {
    let mut fields =
        vec![field("type", Value::string(kind)), field("description", Value::string(description))];
    fields.extend(more);
    Value::object(fields)
}

/// Whether a tool takes arguments beyond the listed ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtraArguments {
    /// It stores them as they are.
    Allowed,
    /// It refuses them.
    Refused,
}

/// The schema of a tool's arguments.
pub fn object(properties: Vec<Field>, required: &[&str], others: ExtraArguments) -> Value {
    Value::object(vec![
        field("type", Value::string("object")),
        field("properties", Value::object(properties)),
        field("required", Value::strings(required)),
        field("additionalProperties", Value::bool(others == ExtraArguments::Allowed)),
    ])
}

/// `mode`
pub fn mode() -> Field {
    let names = Mode::ALL.iter().map(|mode| mode.name()).chain(["plan-consensus"]);
    field("mode", typed("string", "The mode", vec![field("enum", Value::strings(names))]))
}

/// `session_id`
pub fn session_id() -> Field {
    let pattern = Value::string("^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$");
    let text = "The agent session; the caller's own if missing";
    field("session_id", typed("string", text, vec![field("pattern", pattern)]))
}

/// `workingDirectory`
pub fn working_directory() -> Field {
    field(
        "workingDirectory",
        typed("string", "The project's root, if it is not the server's", vec![]),
    )
}

/// A flag.
pub fn flag(name: &str, description: &str) -> Field {
    field(name, typed("boolean", description, vec![]))
}

/// A text.
pub fn text(name: &str, description: &str) -> Field {
    field(name, typed("string", description, vec![]))
}

/// One of these words.
pub fn one_of(name: &str, description: &str, words: &[&str]) -> Field {
    field(name, typed("string", description, vec![field("enum", Value::strings(words))]))
}

/// A positive integer.
pub fn limit(name: &str, description: &str) -> Field {
    field(name, typed("integer", description, vec![field("minimum", Value::integer(1))]))
}

/// A list of texts.
pub fn texts(name: &str, description: &str) -> Field {
    let items = field("items", Value::record([("type", Value::string("string"))]));
    field(name, typed("array", description, vec![items]))
}

/// A non-negative integer.
pub fn count(name: &str, description: &str) -> Field {
    field(name, typed("integer", description, vec![field("minimum", Value::integer(0))]))
}

/// Any object.
pub fn any_object(name: &str, description: &str) -> Field {
    field(name, typed("object", description, vec![]))
}

/// The fields that every mode has.
pub fn common_fields() -> Vec<Field> {
    COMMON_FIELDS
        .iter()
        .map(|(name, kind)| {
            let minimum = |least| vec![field("minimum", Value::integer(least))];
            let (json_type, more) = match kind {
                FieldKind::Flag => ("boolean", vec![]),
                FieldKind::Count => ("integer", minimum(0)),
                FieldKind::Limit => ("integer", minimum(1)),
                FieldKind::Time => ("string", vec![field("format", Value::string("date-time"))]),
                FieldKind::Text => ("string", vec![]),
                FieldKind::Object | FieldKind::Waiting => ("object", vec![]),
                FieldKind::List => ("array", vec![]),
            };
            field(name, typed(json_type, describe(name), more))
        })
        .collect()
}

fn describe(name: &str) -> &'static str {
    match name {
        "active" => "Whether the run is live; required in the first write of a document",
        "current_phase" => "The phase to enter; the mode decides which phases may follow",
        "iteration" => "Rounds completed so far",
        "max_iterations" => "Maximum number of rounds; for a live run it can only be lowered",
        "run_outcome" => "continue, progress, finish, blocked_on_user, failed or cancelled",
        "lifecycle_outcome" => "finished, blocked, failed or cancelled",
        "task_description" => "The task, in one short sentence",
        "error" => "Why the run failed or is blocked",
        "waiting" => "What a live run waits for: {kind: rate_limit, network or worker, until?}",
        _ => "A time (RFC 3339, UTC)",
    }
}

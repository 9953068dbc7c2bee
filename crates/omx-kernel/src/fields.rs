//! The fields that the rules read, and the values they accept.
//!
//! A document may carry any other field. Such foreign fields pass through unchanged.

use crate::mode::{Mode, quote};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::value::{Shape, Value};

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// `true` or `false`
    Flag,
    /// An integer of at least 0.
    Count,
    /// An integer of at least 1.
    Limit,
    /// A string.
    Text,
    /// An RFC 3339 time.
    Time,
    /// An object.
    Object,
    /// An array.
    List,
    /// `{kind, until?}`: what a live run waits for.
    Waiting,
}

/// Fields of every mode.
pub const COMMON_FIELDS: &[(&str, FieldKind)] = &[
    ("active", FieldKind::Flag),
    ("current_phase", FieldKind::Text),
    ("iteration", FieldKind::Count),
    ("max_iterations", FieldKind::Limit),
    ("run_outcome", FieldKind::Text),
    ("lifecycle_outcome", FieldKind::Text),
    ("task_description", FieldKind::Text),
    ("started_at", FieldKind::Time),
    ("updated_at", FieldKind::Time),
    ("completed_at", FieldKind::Time),
    ("error", FieldKind::Text),
    ("waiting", FieldKind::Waiting),
];

/// Fields of one mode. A write of `null` is stored here; it removes any other field.
pub fn mode_fields(mode: Mode) -> &'static [(&'static str, FieldKind)] {
    match mode {
        Mode::Autopilot => &[
            ("phase_cycle", FieldKind::List),
            ("review_cycle", FieldKind::Count),
            ("handoff_artifacts", FieldKind::Object),
            ("review_verdict", FieldKind::Object),
            ("return_to_ralplan_reason", FieldKind::Text),
            ("review_history", FieldKind::List),
            ("failure_history", FieldKind::List),
            ("history", FieldKind::List),
        ],
        Mode::Ralph => &[
            ("completion_audit", FieldKind::Object),
            ("completion_audit_path", FieldKind::Text),
            ("linked_ultrawork", FieldKind::Flag),
            ("linked_ecomode", FieldKind::Flag),
            ("linked_team", FieldKind::Flag),
            ("team_name", FieldKind::Text),
            ("linked_team_terminal_phase", FieldKind::Text),
            ("linked_team_terminal_at", FieldKind::Time),
            ("linked_to", FieldKind::Text),
            ("failure_history", FieldKind::List),
        ],
        Mode::Ralplan => &[
            ("plan_path", FieldKind::Text),
            ("test_spec_path", FieldKind::Text),
            ("consensus", FieldKind::Object),
            ("linked_to", FieldKind::Text),
        ],
        Mode::CodeReview => {
            &[("review_verdict", FieldKind::Object), ("linked_to", FieldKind::Text)]
        }
        Mode::Ultrawork | Mode::Ecomode => &[
            ("last_check", FieldKind::Object),
            ("completion_audit", FieldKind::Object),
            ("completion_audit_path", FieldKind::Text),
            ("linked_to_ralph", FieldKind::Flag),
            ("linked_to", FieldKind::Text),
            ("failure_history", FieldKind::List),
        ],
        Mode::Ultraqa => &[
            ("last_check", FieldKind::Object),
            ("failure_history", FieldKind::List),
            ("linked_to", FieldKind::Text),
        ],
        Mode::Pipeline => &[
            ("stages", FieldKind::List),
            ("stage_results", FieldKind::Object),
            ("review_cycle", FieldKind::Count),
            ("handoff_artifacts", FieldKind::Object),
            ("review_verdict", FieldKind::Object),
            ("return_to_ralplan_reason", FieldKind::Text),
            ("review_history", FieldKind::List),
            ("failure_history", FieldKind::List),
            ("history", FieldKind::List),
        ],
        Mode::Team => &[
            ("team_name", FieldKind::Text),
            ("agent_count", FieldKind::Count),
            ("task", FieldKind::Text),
            ("fix_loop_count", FieldKind::Count),
            ("max_fix_loops", FieldKind::Limit),
            ("linked_ralph", FieldKind::Flag),
            ("stage_history", FieldKind::Text),
            ("verification", FieldKind::Object),
            ("failure_history", FieldKind::List),
        ],
        Mode::Swarm => &[("tasks", FieldKind::Object)],
        Mode::Ultrapilot => {
            &[("verification", FieldKind::Object), ("failure_history", FieldKind::List)]
        }
    }
}

/// Further fields that rules read in the documents of every mode.
const INTERNAL_FIELDS: &[&str] =
    &["mode", "session_id", "revision", "phase", "ended_in_phase", "completion_note"];

/// The field whose keys a write merges, in every mode.
const HANDOFFS_FIELD: &str = "handoff_artifacts";

/// Whether a write merges the keys of this field, instead of replacing its value.
pub fn is_merged(mode: Mode, name: &str) -> bool {
    name == HANDOFFS_FIELD || (mode == Mode::Pipeline && name == "stage_results")
}

/// Whether rules read this field of a document. Other fields are never parsed.
pub fn is_read(mode: Mode, name: &str) -> bool {
    field_kind(mode, name).is_some() || INTERNAL_FIELDS.contains(&name) || name == HANDOFFS_FIELD
}

/// Returns the type of a known field.
pub fn field_kind(mode: Mode, name: &str) -> Option<FieldKind> {
    COMMON_FIELDS
        .iter()
        .chain(mode_fields(mode))
        .find(|(known, _)| *known == name)
        .map(|(_, kind)| *kind)
}

/// Whether the field belongs to this mode, so that its `null` is stored.
pub fn is_mode_field(mode: Mode, name: &str) -> bool {
    mode_fields(mode).iter().any(|(known, _)| *known == name)
}

/// Checks a value against the type of its field. Nothing is coerced.
pub fn check_value(name: &str, kind: FieldKind, value: &Value) -> Result<(), Refusal> {
    let fits = match kind {
        FieldKind::Flag => value.as_bool().is_some(),
        FieldKind::Count => value.as_u64().is_some(),
        FieldKind::Limit => value.as_u64().is_some_and(|count| count >= 1),
        FieldKind::Text => value.as_str().is_some(),
        FieldKind::Time => value.as_str().and_then(Timestamp::parse).is_some(),
        FieldKind::Object => value.as_object().is_some(),
        FieldKind::List => value.as_array().is_some(),
        FieldKind::Waiting => return check_waiting(value),
    };
    if fits { Ok(()) } else { Err(type_mismatch(name, kind.expected(), value)) }
}

fn check_waiting(value: &Value) -> Result<(), Refusal> {
    let expected = "an object {kind: rate_limit, network or worker, until?: time}";
    let kind = value.get("kind").and_then(Value::as_str);
    let until_fits = value
        .get("until")
        .is_none_or(|until| until.is_null() || until.as_str().and_then(Timestamp::parse).is_some());
    if matches!(kind, Some("rate_limit" | "network" | "worker")) && until_fits {
        Ok(())
    } else {
        Err(Refusal::invalid_input(format!("waiting must be {expected}")))
    }
}

impl FieldKind {
    /// The type in words, for an error message.
    pub fn expected(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Count => "an integer of at least 0",
            Self::Limit => "an integer of at least 1",
            Self::Text => "a string",
            Self::Time => "a time such as 2026-01-31T12:00:00Z (RFC 3339)",
            Self::Object => "an object",
            Self::List => "an array",
            Self::Waiting => "an object",
        }
    }
}

/// Returns the refusal `NAME must be EXPECTED, not VALUE`.
pub fn type_mismatch(name: &str, expected: &str, value: &Value) -> Refusal {
    let seen = match value.shape() {
        Shape::String(text) => quote(text),
        Shape::Array(_) => "an array".to_owned(),
        Shape::Object(_) => "an object".to_owned(),
        Shape::Opaque => "this value".to_owned(),
        _ => value.as_json().chars().take(40).collect(),
    };
    Refusal::invalid_input(format!("{name} must be {expected}, not {seen}"))
}

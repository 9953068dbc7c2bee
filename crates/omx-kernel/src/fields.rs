//! The fields omx knows by name, and which values they take.
//!
//! A document may carry any other field; those are foreign and pass through
//! untouched. The names here are the ones the rules read.

use crate::mode::{Mode, quoted};
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::value::{Shape, Value};

/// What kind of value a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`
    Flag,
    /// An integer from 0 on.
    Count,
    /// An integer from 1 on.
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

/// Fields every mode has.
pub const COMMON: &[(&str, Kind)] = &[
    ("active", Kind::Flag),
    ("current_phase", Kind::Text),
    ("iteration", Kind::Count),
    ("max_iterations", Kind::Limit),
    ("run_outcome", Kind::Text),
    ("lifecycle_outcome", Kind::Text),
    ("task_description", Kind::Text),
    ("started_at", Kind::Time),
    ("updated_at", Kind::Time),
    ("completed_at", Kind::Time),
    ("error", Kind::Text),
    ("waiting", Kind::Waiting),
];

/// Fields of single modes. `null` is stored for these, and removes any other field.
pub fn own(mode: Mode) -> &'static [(&'static str, Kind)] {
    match mode {
        Mode::Autopilot => &[
            ("phase_cycle", Kind::List),
            ("review_cycle", Kind::Count),
            ("handoff_artifacts", Kind::Object),
            ("review_verdict", Kind::Object),
            ("return_to_ralplan_reason", Kind::Text),
            ("review_history", Kind::List),
        ],
        Mode::Ralph => &[
            ("completion_audit", Kind::Object),
            ("completion_audit_path", Kind::Text),
            ("linked_ultrawork", Kind::Flag),
            ("linked_ecomode", Kind::Flag),
            ("linked_team", Kind::Flag),
            ("team_name", Kind::Text),
            ("linked_team_terminal_phase", Kind::Text),
            ("linked_team_terminal_at", Kind::Time),
            ("linked_to", Kind::Text),
        ],
        Mode::Ralplan => &[
            ("plan_path", Kind::Text),
            ("test_spec_path", Kind::Text),
            ("consensus", Kind::Object),
            ("linked_to", Kind::Text),
        ],
        Mode::CodeReview => &[("review_verdict", Kind::Object), ("linked_to", Kind::Text)],
        Mode::Ultrawork | Mode::Ecomode => &[
            ("last_check", Kind::Object),
            ("completion_audit", Kind::Object),
            ("completion_audit_path", Kind::Text),
            ("linked_to_ralph", Kind::Flag),
            ("linked_to", Kind::Text),
        ],
        Mode::Ultraqa => &[
            ("last_check", Kind::Object),
            ("failure_history", Kind::List),
            ("linked_to", Kind::Text),
        ],
        Mode::Pipeline => &[
            ("stages", Kind::List),
            ("stage_results", Kind::Object),
            ("review_cycle", Kind::Count),
            ("handoff_artifacts", Kind::Object),
            ("review_verdict", Kind::Object),
            ("return_to_ralplan_reason", Kind::Text),
        ],
        Mode::Team => &[
            ("team_name", Kind::Text),
            ("agent_count", Kind::Count),
            ("task", Kind::Text),
            ("fix_loop_count", Kind::Count),
            ("max_fix_loops", Kind::Limit),
            ("linked_ralph", Kind::Flag),
            ("stage_history", Kind::Text),
            ("verification", Kind::Object),
        ],
        Mode::Swarm => &[("tasks", Kind::Object)],
        Mode::Ultrapilot => &[("verification", Kind::Object)],
    }
}

/// Fields omx looks into in the document of every mode: its own, and the
/// hand-offs, which a write merges by key whatever the mode.
const KEPT: &[&str] =
    &["mode", "session_id", "revision", "ended_in_phase", "completion_note", "handoff_artifacts"];

/// Merged key by key in every mode, so it is looked into in every mode.
pub const MERGED: &str = "handoff_artifacts";

/// Whether rules look into this field of a document. Others are never parsed.
pub fn is_read(mode: Mode, name: &str) -> bool {
    kind_of(mode, name).is_some() || KEPT.contains(&name) || name == MERGED
}

/// The kind of a known field.
pub fn kind_of(mode: Mode, name: &str) -> Option<Kind> {
    COMMON.iter().chain(own(mode)).find(|(known, _)| *known == name).map(|(_, kind)| *kind)
}

/// Whether the field belongs to this mode alone, so that its `null` is kept.
pub fn is_own(mode: Mode, name: &str) -> bool {
    own(mode).iter().any(|(known, _)| *known == name)
}

/// Checks a value against the kind of its field. Nothing is coerced.
pub fn check(name: &str, kind: Kind, value: &Value) -> Result<(), Refusal> {
    let fits = match kind {
        Kind::Flag => value.as_bool().is_some(),
        Kind::Count => value.as_whole().is_some(),
        Kind::Limit => value.as_whole().is_some_and(|count| count >= 1),
        Kind::Text => value.as_str().is_some(),
        Kind::Time => value.as_str().and_then(Timestamp::parse).is_some(),
        Kind::Object => value.as_object().is_some(),
        Kind::List => value.as_list().is_some(),
        Kind::Waiting => return check_waiting(value),
    };
    if fits { Ok(()) } else { Err(wrong(name, kind.wanted(), value)) }
}

fn check_waiting(value: &Value) -> Result<(), Refusal> {
    let wanted = "an object {kind: rate_limit, network or worker, until?: time}";
    let kind = value.get("kind").and_then(Value::as_str);
    let until_fits = value
        .get("until")
        .is_none_or(|until| until.is_null() || until.as_str().and_then(Timestamp::parse).is_some());
    if matches!(kind, Some("rate_limit" | "network" | "worker")) && until_fits {
        Ok(())
    } else {
        Err(Refusal::input(format!("waiting must be {wanted}")))
    }
}

impl Kind {
    /// What a sentence says of it.
    pub fn wanted(self) -> &'static str {
        match self {
            Self::Flag => "true or false",
            Self::Count => "an integer from 0 on",
            Self::Limit => "an integer from 1 on",
            Self::Text => "a string",
            Self::Time => "a time such as 2026-01-31T12:00:00Z (RFC 3339)",
            Self::Object => "an object",
            Self::List => "an array",
            Self::Waiting => "an object",
        }
    }
}

/// `NAME must be WANTED, not VALUE`
pub fn wrong(name: &str, wanted: &str, value: &Value) -> Refusal {
    let seen = match value.shape() {
        Shape::Text(text) => quoted(text),
        Shape::List(_) => "an array".to_owned(),
        Shape::Object(_) => "an object".to_owned(),
        Shape::Opaque => "this value".to_owned(),
        _ => value.text().chars().take(40).collect(),
    };
    Refusal::input(format!("{name} must be {wanted}, not {seen}"))
}

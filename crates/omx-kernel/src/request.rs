//! A request to write a document. Every value is checked before any rule sees it.

use crate::fields::{self, type_mismatch};
use crate::ids::SessionId;
use crate::misspelled::check_spelling;
use crate::mode::Mode;
use crate::refusal::{Refusal, RefusalCode};
use crate::value::Value;

/// What the caller wants besides changing fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteIntent {
    /// Change the document; `active: true` may start a run.
    Change,
    /// Explicitly start a new run.
    Start,
    /// Reopen an ended run with all its fields.
    Resume,
}

/// Whether a write may raise the iteration limit of a run in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LimitRule {
    /// It may only lower it.
    #[default]
    OnlyLower,
    /// It carries out what the person asked for, so it may raise it.
    MayRaise,
}

/// Whether a stage that starts inside a running autopilot is linked to it by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StageRule {
    /// It is: autopilot's own skill starts it.
    #[default]
    Linked,
    /// It is not, unless the request says so: the person calls for something else.
    Separate,
}

/// A write request whose values all have the right type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteRequest {
    /// The document's mode.
    pub mode: Mode,
    /// Change, start or resume.
    pub intent: WriteIntent,
    /// The revision that the caller has read.
    pub expected_revision: Option<u64>,
    /// Whether it may raise the iteration limit.
    pub limit_rule: LimitRule,
    /// Whether a stage becomes part of a running autopilot.
    pub stage_rule: StageRule,
    /// The fields to write, in order.
    pub fields: Vec<(String, Value)>,
}

/// Arguments that are never stored.
const CONTROL_ARGUMENTS: &[&str] =
    &["mode", "session_id", "workingDirectory", "expected_revision", "start", "resume", "state"];

/// Fields that only omx may set.
const INTERNAL_FIELDS: &[&str] = &["ended_in_phase", "review_history", "failure_history"];

impl WriteRequest {
    /// Checks the fields of a request for the document of this mode and session.
    pub fn new(
        mode: Mode,
        session: Option<&SessionId>,
        input: Vec<(String, Value)>,
    ) -> Result<Self, Refusal> {
        let mut start = false;
        let mut resume = false;
        let mut expected_revision = None;
        let mut fields: Vec<(String, Value)> = Vec::new();
        let mut nested: Vec<(String, Value)> = Vec::new();
        for (name, value) in input {
            match name.as_str() {
                "start" => start = parse_flag("start", &value)?,
                "resume" => resume = parse_flag("resume", &value)?,
                "expected_revision" if value.is_null() => {}
                "expected_revision" => {
                    let mismatch =
                        || type_mismatch("expected_revision", "an integer of at least 0", &value);
                    expected_revision = Some(value.as_u64().ok_or_else(mismatch)?);
                }
                "state" => match value.as_object() {
                    Some(object) => nested = object.to_vec(),
                    None => return Err(type_mismatch("state", "an object", &value)),
                },
                name if CONTROL_ARGUMENTS.contains(&name) => {}
                _ => {
                    check_spelling(mode, &name, CONTROL_ARGUMENTS)?;
                    add_field(&mut fields, name, value)?;
                }
            }
        }
        for (name, value) in nested {
            match name.as_str() {
                "mode" if value.as_str() == Some(mode.name()) => {}
                "session_id" if value.as_str() == session.map(SessionId::as_str) => {}
                "mode" | "session_id" => {
                    return Err(Refusal::invalid_input(format!(
                        "state.{name} differs from the {name} of the request"
                    )));
                }
                _ => add_field(&mut fields, name, value)?,
            }
        }
        let intent = match (start, resume) {
            (false, false) => WriteIntent::Change,
            (true, false) => WriteIntent::Start,
            (false, true) => WriteIntent::Resume,
            (true, true) => {
                return Err(Refusal::new(
                    RefusalCode::Contradiction,
                    "start and resume exclude each other: start begins a new run, resume continues the old one",
                ));
            }
        };
        for (name, value) in &fields {
            check_field(mode, name, value)?;
        }
        let (limit_rule, stage_rule) = (LimitRule::OnlyLower, StageRule::Linked);
        Ok(Self { mode, intent, expected_revision, limit_rule, stage_rule, fields })
    }

    /// Returns the request with another rule about stages.
    #[must_use]
    pub fn with_stage_rule(self, stage_rule: StageRule) -> Self {
        Self { stage_rule, ..self }
    }

    /// Returns the request with another rule about limits.
    #[must_use]
    pub fn with_limit_rule(self, limit_rule: LimitRule) -> Self {
        Self { limit_rule, ..self }
    }

    /// Returns the new value of a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Returns the new value of a field if it is a string.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns the new value of a field if it is a counter.
    pub fn get_u64(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }
}

fn parse_flag(name: &str, value: &Value) -> Result<bool, Refusal> {
    if value.is_null() {
        return Ok(false);
    }
    value.as_bool().ok_or_else(|| type_mismatch(name, "true or false", value))
}

fn add_field(fields: &mut Vec<(String, Value)>, name: String, value: Value) -> Result<(), Refusal> {
    match fields.iter().find(|(key, _)| *key == name) {
        Some((_, other)) if *other == value => Ok(()),
        Some(_) => {
            Err(Refusal::invalid_input(format!("{name:?} is given twice, with different values")))
        }
        None => {
            fields.push((name, value));
            Ok(())
        }
    }
}

fn check_field(mode: Mode, name: &str, value: &Value) -> Result<(), Refusal> {
    if name == "revision" {
        return Err(Refusal::invalid_input(
            "a write cannot set revision; to guard a write, set expected_revision",
        ));
    }
    let is_history = name == "history" && fields::is_mode_field(mode, name);
    if INTERNAL_FIELDS.contains(&name) || is_history {
        return Err(Refusal::invalid_input(format!(
            "a write cannot set {name}; it is maintained automatically"
        )));
    }
    let Some(kind) = fields::field_kind(mode, name) else { return Ok(()) };
    let may_be_null = !matches!(
        name,
        "active"
            | "current_phase"
            | "iteration"
            | "max_iterations"
            | "handoff_artifacts"
            | "fix_loop_count"
            | "max_fix_loops"
            | "review_cycle"
    );
    if value.is_null() && may_be_null {
        return Ok(());
    }
    fields::check_value(name, kind, value)
}

//! A request to write, checked value by value before any rule sees it.

use crate::fields::{self, type_mismatch};
use crate::ids::SessionId;
use crate::mode::Mode;
use crate::refusal::{Refusal, RefusalCode};
use crate::value::Value;

/// What the caller wants beyond a change of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteIntent {
    /// Change what is there; `active: true` may begin a run.
    Change,
    /// Begin a new run, said explicitly.
    Start,
    /// Reopen a run that ended, with everything it had.
    Resume,
}

/// A request whose values all have their right type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WriteRequest {
    /// Which document.
    pub mode: Mode,
    /// Change, start or resume.
    pub intent: WriteIntent,
    /// The revision the caller has seen.
    pub expected_revision: Option<u64>,
    /// Everything to be put into the document, in order.
    pub fields: Vec<(String, Value)>,
}

/// Arguments that address or steer and are never stored.
const STEERING: &[&str] =
    &["mode", "session_id", "workingDirectory", "expected_revision", "start", "resume", "state"];

/// What omx remembers in a document for its own rules.
const KEPT_BY_OMX: &[&str] = &["ended_in_phase", "review_history", "failure_history"];

impl WriteRequest {
    /// Checks the fields of a request. Mode and session were read before, to find the document.
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
                "start" => start = flag("start", &value)?,
                "resume" => resume = flag("resume", &value)?,
                "expected_revision" if value.is_null() => {}
                "expected_revision" => {
                    let wanted =
                        || type_mismatch("expected_revision", "an integer from 0 on", &value);
                    expected_revision = Some(value.as_u64().ok_or_else(wanted)?);
                }
                "state" => match value.as_object() {
                    Some(object) => nested = object.to_vec(),
                    None => return Err(type_mismatch("state", "an object", &value)),
                },
                name if STEERING.contains(&name) => {}
                _ => add(&mut fields, name, value)?,
            }
        }
        for (name, value) in nested {
            match name.as_str() {
                "mode" if value.as_str() == Some(mode.name()) => {}
                "session_id" if value.as_str() == session.map(SessionId::as_str) => {}
                "mode" | "session_id" => {
                    return Err(Refusal::invalid_input(format!(
                        "state.{name} differs from the {name} the request is for"
                    )));
                }
                _ => add(&mut fields, name, value)?,
            }
        }
        let intent = match (start, resume) {
            (false, false) => WriteIntent::Change,
            (true, false) => WriteIntent::Start,
            (false, true) => WriteIntent::Resume,
            (true, true) => {
                return Err(Refusal::new(
                    RefusalCode::Contradiction,
                    "start and resume exclude each other: a start begins anew, a resume goes on",
                ));
            }
        };
        for (name, value) in &fields {
            check(mode, name, value)?;
        }
        Ok(Self { mode, intent, expected_revision, fields })
    }

    /// The value this request gives to a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The string this request gives to a field.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// The counter this request gives to a field.
    pub fn get_u64(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }
}

fn flag(name: &str, value: &Value) -> Result<bool, Refusal> {
    if value.is_null() {
        return Ok(false);
    }
    value.as_bool().ok_or_else(|| type_mismatch(name, "true or false", value))
}

fn add(fields: &mut Vec<(String, Value)>, name: String, value: Value) -> Result<(), Refusal> {
    match fields.iter().find(|(key, _)| *key == name) {
        Some((_, other)) if *other == value => Ok(()),
        Some(_) => {
            Err(Refusal::invalid_input(format!("{name:?} is given twice with different values")))
        }
        None => {
            fields.push((name, value));
            Ok(())
        }
    }
}

fn check(mode: Mode, name: &str, value: &Value) -> Result<(), Refusal> {
    if name == "revision" {
        return Err(Refusal::invalid_input(
            "revision is counted by omx; to guard a write, give expected_revision",
        ));
    }
    if KEPT_BY_OMX.contains(&name) {
        return Err(Refusal::invalid_input(format!(
            "{name} is kept by omx; a write cannot set it"
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

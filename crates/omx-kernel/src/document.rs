//! A mode's document: an ordered list of fields, of which the rules read a few.

use crate::mode::Mode;
use crate::outcome::{RunEnding, RunOutcome, parse_lifecycle};
use crate::phase;
use crate::time::Timestamp;
use crate::value::{Value, last_field, set_field};

/// After this long without a sign of life an active document is stale.
pub const STALE_AFTER_MILLIS: i64 = 2 * 60 * 60 * 1_000;

/// The order in which a new document's fields are written.
const ORDER: &[&str] = &[
    "mode",
    "active",
    "current_phase",
    "iteration",
    "max_iterations",
    "run_outcome",
    "lifecycle_outcome",
    "task_description",
    "started_at",
    "updated_at",
    "completed_at",
    "session_id",
    "error",
    "revision",
];

/// One mode's state, as an ordered list of fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Document {
    fields: Vec<(String, Value)>,
}

/// Whether a run is live, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentStatus {
    /// `active` is true.
    Active,
    /// It is not, and this is how it ended.
    Ended(RunEnding),
}

impl Document {
    /// A document of these fields, as they stood in the file.
    pub fn new(fields: Vec<(String, Value)>) -> Self {
        Self { fields }
    }

    /// All fields in order.
    pub fn fields(&self) -> &[(String, Value)] {
        &self.fields
    }

    /// The field of that name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        last_field(&self.fields, name)
    }

    /// The string in that field.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// The counter in that field.
    pub fn get_u64(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }

    /// Whether that field is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool) == Some(true)
    }

    /// Whether that field names something: `true`, or a text that is not empty.
    pub fn is_set(&self, name: &str) -> bool {
        self.is_true(name) || self.get_str(name).is_some_and(|text| !text.is_empty())
    }

    /// The time in that field.
    pub fn get_time(&self, name: &str) -> Option<Timestamp> {
        Timestamp::parse(self.get_str(name)?)
    }

    /// Sets a field where it stands, or at the end.
    pub fn set(&mut self, name: &str, value: Value) {
        set_field(&mut self.fields, name, value);
    }

    /// Removes a field; the others stay in order.
    pub fn remove(&mut self, name: &str) {
        self.fields.retain(|(key, _)| key != name);
    }

    /// How often omx wrote it; a document of other hands has been written 0 times.
    pub fn revision(&self) -> u64 {
        self.get_u64("revision").unwrap_or(0)
    }

    /// The revision of the write that follows. Other hands may have put any
    /// number there; the last one there is stays the last.
    pub fn next_revision(&self) -> u64 {
        self.revision().saturating_add(1)
    }

    /// The phase as it stands.
    pub fn phase(&self) -> Option<&str> {
        self.get_str("current_phase")
    }

    /// Whether it is live now.
    pub fn is_active(&self) -> bool {
        self.is_true("active")
    }

    /// Whether it is live, or how it ended. Outcome, lifecycle and phase are
    /// asked in turn; a document that says only `active: false` was cancelled.
    pub fn status(&self) -> DocumentStatus {
        if self.is_active() {
            return DocumentStatus::Active;
        }
        let by_outcome =
            self.get_str("run_outcome").and_then(|word| match RunOutcome::parse(word) {
                Ok(RunOutcome::Ended(ending)) => Some(ending),
                _ => None,
            });
        let ending = by_outcome
            .or_else(|| {
                self.get_str("lifecycle_outcome").and_then(|word| parse_lifecycle(word).ok())
            })
            .or_else(|| self.phase().and_then(phase::ending_for_phase))
            .unwrap_or(RunEnding::Cancelled);
        DocumentStatus::Ended(ending)
    }

    /// Whether it is active without a sign of life for two hours. `last_seen`
    /// is the latest sign known from elsewhere.
    pub fn is_stale(&self, last_seen: Option<Timestamp>, now: Timestamp) -> bool {
        let sign = self.get_time("updated_at").max(last_seen);
        self.is_active() && sign.is_some_and(|sign| now.millis_since(sign) > STALE_AFTER_MILLIS)
    }

    /// The stages a pipeline named, as phases.
    pub fn stages(&self) -> Vec<String> {
        self.get("stages").and_then(stage_phases).unwrap_or_default()
    }

    /// Ends the run: what every ending sets, whoever asked for it.
    pub fn end(&mut self, mode: Mode, ending: RunEnding, now: Timestamp) {
        let keeps_phase = mode == Mode::Autopilot && ending == RunEnding::Cancelled;
        if let Some(word) = phase::phase_for_ending(ending).filter(|_| !keeps_phase) {
            if let Some(before) = self.phase().map(str::to_owned)
                && phase::ending_for_phase(&before).is_none()
                && ending != RunEnding::Finished
            {
                // Resuming goes back to this phase.
                self.set("ended_in_phase", Value::string(&before));
            }
            self.set("current_phase", Value::string(word));
        }
        self.set("active", Value::bool(false));
        self.set("run_outcome", Value::string(ending.run_outcome()));
        self.set("lifecycle_outcome", Value::string(ending.lifecycle_outcome()));
        self.set("completed_at", Value::string(&now.to_string()));
        self.remove("waiting");
    }

    /// What every write of omx does last: mode, session, time and revision.
    pub fn stamp(&mut self, mode: Mode, session: Option<&str>, revision: u64, now: Timestamp) {
        if self.get_str("mode") != Some(mode.name()) {
            self.set("mode", Value::string(mode.name()));
        }
        if let Some(session) = session
            && self.get_str("session_id") != Some(session)
        {
            self.set("session_id", Value::string(session));
        }
        self.set("updated_at", Value::string(&now.to_string()));
        self.set("revision", Value::integer(revision));
    }

    /// Puts the fields everybody knows first. Only for documents omx begins:
    /// in others every field keeps its place.
    pub fn sort_as_new(&mut self) {
        let rank =
            |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
        self.fields.sort_by_key(|(name, _)| rank(name));
    }
}

/// The phases of a `stages` value: names, or objects with a name. The preset
/// that is autopilot as a pipeline has autopilot's bare phase names.
pub fn stage_phases(stages: &Value) -> Option<Vec<String>> {
    let names: Option<Vec<&str>> = stages
        .as_array()?
        .iter()
        .map(|stage| stage.as_str().or_else(|| stage.get("name")?.as_str()))
        .map(|name| name.filter(|name| !name.is_empty()))
        .collect();
    let names = names?;
    let is_preset = names == Mode::Autopilot.spec().phases;
    Some(
        names
            .into_iter()
            .map(|name| {
                if is_preset || name.starts_with("stage:") {
                    name.to_owned()
                } else {
                    format!("stage:{name}")
                }
            })
            .collect(),
    )
}

//! A mode's document: an ordered list of fields, some of which the rules read.

use crate::mode::{Mode, OnCancel};
use crate::outcome::{DocumentOutcome, RunEnding, parse_lifecycle};
use crate::phase;
use crate::time::Timestamp;
use crate::value::{Value, last_field, set_field};

/// An active document without any activity for this long is stale.
pub const STALE_AFTER_MILLIS: i64 = 2 * 60 * 60 * 1_000;

/// The field order of a new document.
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

/// The state of one mode, as an ordered list of fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Document {
    fields: Vec<(String, Value)>,
}

/// Whether a run is active, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentStatus {
    /// The field `active` is true.
    Active,
    /// The run has ended.
    Ended(RunEnding),
}

impl Document {
    /// Creates a document with these fields, in the order of the file.
    pub fn new(fields: Vec<(String, Value)>) -> Self {
        Self { fields }
    }

    /// All fields in order.
    pub fn fields(&self) -> &[(String, Value)] {
        &self.fields
    }

    /// The document as one value.
    pub fn into_value(self) -> Value {
        Value::object(self.fields)
    }

    /// Returns a field.
    pub fn get(&self, name: &str) -> Option<&Value> {
        last_field(&self.fields, name)
    }

    /// Returns a field if it is a string.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Returns a field if it is a counter.
    pub fn get_u64(&self, name: &str) -> Option<u64> {
        self.get(name)?.as_u64()
    }

    /// Whether a field is `true`.
    pub fn is_true(&self, name: &str) -> bool {
        self.get(name).and_then(Value::as_bool) == Some(true)
    }

    /// Whether a link field names something: it is `true` or a non-empty string.
    pub fn is_set(&self, name: &str) -> bool {
        self.is_true(name) || self.get_str(name).is_some_and(|text| !text.is_empty())
    }

    /// Returns a field if it is a time.
    pub fn get_time(&self, name: &str) -> Option<Timestamp> {
        Timestamp::parse(self.get_str(name)?)
    }

    /// Sets a field in its place, or appends it.
    pub fn set(&mut self, name: &str, value: Value) {
        set_field(&mut self.fields, name, value);
    }

    /// Removes a field. The others keep their order.
    pub fn remove(&mut self, name: &str) {
        self.fields.retain(|(key, _)| key != name);
    }

    /// How often omx has written the document; 0 if only other programs have.
    pub fn revision(&self) -> u64 {
        self.get_u64("revision").unwrap_or(0)
    }

    /// The revision of the next write. Another program may have stored any number, so the
    /// largest one stays where it is.
    pub fn next_revision(&self) -> u64 {
        self.revision().saturating_add(1)
    }

    /// The current phase. Other programs call it `phase`.
    pub fn phase(&self) -> Option<&str> {
        match self.get("current_phase") {
            Some(phase) => phase.as_str(),
            None => self.get_str("phase"),
        }
    }

    /// Whether the run is active. Other programs and people write documents that claim to
    /// be active and to have ended: those have ended.
    pub fn is_active(&self) -> bool {
        self.is_true("active") && self.stated_ending().is_none()
    }

    /// Whether it claims both to be active and to have ended.
    pub fn is_active_and_ended(&self) -> bool {
        let is_ended = || self.stated_ending().is_some() || self.get_time("completed_at").is_some();
        self.is_true("active") && is_ended()
    }

    /// The ending that `run_outcome` names or, failing that, the phase.
    fn stated_ending(&self) -> Option<RunEnding> {
        let outcome = self.get_str("run_outcome").map(DocumentOutcome::parse);
        match outcome {
            Some(Ok(DocumentOutcome::Ended(ending))) => Some(ending),
            _ => self.phase().and_then(phase::ending_for_phase),
        }
    }

    /// Whether the run is active, or how it ended according to `run_outcome`,
    /// `lifecycle_outcome` or the phase, in this order. A document with only
    /// `active: false` counts as cancelled.
    pub fn status(&self) -> DocumentStatus {
        if self.is_active() {
            return DocumentStatus::Active;
        }
        let by_outcome =
            self.get_str("run_outcome").and_then(|word| match DocumentOutcome::parse(word) {
                Ok(DocumentOutcome::Ended(ending)) => Some(ending),
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

    /// Whether the run waits for the person (`blocked_on_user`).
    pub fn waits_for_person(&self) -> bool {
        self.status() == DocumentStatus::Ended(RunEnding::Blocked)
    }

    /// Whether a cancel ends the run: it is active, or waits for the person.
    pub fn is_open(&self) -> bool {
        self.is_active() || self.waits_for_person()
    }

    /// Whether `"resume": true` reopens the run with everything it had: one that waits for
    /// the person or failed, and a cancelled one of a mode that keeps its progress.
    pub fn can_resume(&self, mode: Mode) -> bool {
        match self.status() {
            DocumentStatus::Ended(RunEnding::Blocked | RunEnding::Failed) => true,
            DocumentStatus::Ended(RunEnding::Cancelled) => mode.spec().on_cancel != OnCancel::Ends,
            DocumentStatus::Ended(RunEnding::Finished) | DocumentStatus::Active => false,
        }
    }

    /// Whether the run is active but has shown no activity for two hours. `last_seen` is
    /// the latest activity known from elsewhere.
    pub fn is_stale(&self, last_seen: Option<Timestamp>, now: Timestamp) -> bool {
        let sign = self.get_time("updated_at").max(last_seen);
        self.is_active() && sign.is_some_and(|sign| now.millis_since(sign) > STALE_AFTER_MILLIS)
    }

    /// The phases of a pipeline's stages.
    pub fn stages(&self) -> Vec<String> {
        self.get("stages").and_then(stage_phases).unwrap_or_default()
    }

    /// Ends the run: sets the fields that every ending sets.
    pub fn end(&mut self, mode: Mode, ending: RunEnding, now: Timestamp) {
        let keeps_phase = mode == Mode::Autopilot && ending == RunEnding::Cancelled;
        if let Some(word) = phase::phase_for_ending(ending).filter(|_| !keeps_phase) {
            if let Some(before) = self.phase().map(str::to_owned)
                && phase::ending_for_phase(&before).is_none()
                && ending != RunEnding::Finished
            {
                // A resume returns to this phase.
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

    /// Stamps mode, session, time and revision. The last step of every write.
    pub fn stamp(&mut self, mode: Mode, session: Option<&str>, revision: u64, now: Timestamp) {
        if self.get_str("mode") != Some(mode.name()) {
            self.set("mode", Value::string(mode.name()));
        }
        if let Some(session) = session
            && self.get_str("session_id") != Some(session)
        {
            self.set("session_id", Value::string(session));
        }
        if self.get("current_phase").is_none()
            && let Some(phase) = self.phase().map(str::to_owned)
        {
            self.set("current_phase", Value::string(&phase));
        }
        self.set("updated_at", Value::string(&now.to_string()));
        self.set("revision", Value::integer(revision));
    }

    /// Moves the well-known fields to the front. Only for new documents: in existing ones
    /// every field keeps its place.
    pub fn sort_as_new(&mut self) {
        let rank =
            |name: &str| ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len());
        self.fields.sort_by_key(|(name, _)| rank(name));
    }
}

/// Returns the phases of a `stages` value, whose items are names or objects with a name.
/// The autopilot preset uses autopilot's phase names without the `stage:` prefix.
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

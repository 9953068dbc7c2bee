//! A session for tests. Documents and requests are written as the JSON of the
//! specification, so that a test reads like its rule.

use std::fmt;

use omx_kernel::cancel::{self, CancelPlan};
use omx_kernel::evidence::FileFacts;
use omx_kernel::request::WriteRequest;
use omx_kernel::stop::{self, StopDecision, StopEvent};
use omx_kernel::value::Shape;
use omx_kernel::write::{self, WriteContext, WritePlan};
use omx_kernel::{
    Dialect, Document, IterationLimits, Mode, Refusal, RefusalCode, Scope, SessionId, Snapshot,
    Timestamp, Value,
};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The time of most tests.
pub const NOW: &str = "2026-11-15T12:00:00.000Z";

/// Parses a time.
pub fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// The fields of an object with their exact text, in order, including duplicates.
struct Fields(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Fields;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    fields.push(entry);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Walk)
    }
}

/// Parses a value and keeps its text byte for byte.
pub fn value(text: &str) -> Value {
    let raw: Box<RawValue> = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let text = raw.get();
    let shape = match text.as_bytes()[0] {
        b'n' => Shape::Null,
        b't' => Shape::Bool(true),
        b'f' => Shape::Bool(false),
        b'"' => serde_json::from_str(text).map_or(Shape::Opaque, Shape::String),
        b'[' => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(text).unwrap();
            Shape::Array(items.iter().map(|item| value(item.get())).collect())
        }
        b'{' => Shape::Object(object(text)),
        _ => text.parse().map_or(Shape::Number, Shape::Integer),
    };
    Value::from_parts(text, shape)
}

/// Parses the fields of an object.
pub fn object(text: &str) -> Vec<(String, Value)> {
    let fields: Fields = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    fields.0.into_iter().map(|(name, raw)| (name, value(raw.get()))).collect()
}

/// Parses a document as in a file.
pub fn document(text: &str) -> Document {
    Document::new(object(text))
}

/// Formats a document as in a file.
pub fn json(document: &Document) -> String {
    Value::object(document.fields().to_vec()).as_json().to_owned()
}

/// Parses a session id.
pub fn session(id: &str) -> SessionId {
    SessionId::new(id).unwrap()
}

/// One scope, with file facts, limits and the time.
#[derive(Clone, Debug)]
pub struct SessionWorld {
    pub snapshot: Snapshot,
    pub facts: FileFacts,
    pub limits: IterationLimits,
    pub now: Timestamp,
}

impl SessionWorld {
    /// An empty session at [`NOW`].
    pub fn new() -> Self {
        Self::in_scope(Scope::Session(session("s1")))
    }

    /// An empty scope at [`NOW`].
    pub fn in_scope(scope: Scope) -> Self {
        let snapshot = Snapshot::empty(scope);
        Self { snapshot, facts: FileFacts::default(), limits: IterationLimits::new(), now: at(NOW) }
    }

    /// A session with one document in it.
    pub fn with(mode: Mode, text: &str) -> Self {
        let mut world = Self::new();
        world.put(mode, text);
        world
    }

    /// A session with a live run in this phase and further fields.
    pub fn live(mode: Mode, phase: &str, more: &str) -> Self {
        let mut world = Self::new();
        world.run(mode, phase, more);
        world
    }

    /// Adds a live run in this phase, with further fields (`,"a":1`).
    pub fn run(&mut self, mode: Mode, phase: &str, more: &str) {
        let name = mode.name();
        let session = match self.snapshot.scope.session() {
            Some(id) => format!(r#","session_id":"{id}""#),
            None => String::new(),
        };
        let text = format!(
            r#"{{"mode":"{name}","active":true,"current_phase":"{phase}","run_outcome":"continue","updated_at":"{NOW}"{session},"revision":1{more}}}"#
        );
        self.put(mode, &text);
    }

    /// Stores a document, as another program would.
    pub fn put(&mut self, mode: Mode, text: &str) {
        self.snapshot.documents.insert(mode, document(text));
    }

    /// Makes these paths exist.
    pub fn files(mut self, paths: &[&str]) -> Self {
        let known = self.facts.files.into_keys();
        let paths = paths.iter().map(|path| (*path).to_owned());
        self.facts = FileFacts { audit: self.facts.audit, ..FileFacts::assume(known.chain(paths)) };
        self
    }

    /// The document of a mode.
    pub fn get(&self, mode: Mode) -> &Document {
        &self.snapshot.documents[&mode]
    }

    /// Advances the clock.
    pub fn advance(&mut self, millis: i64) {
        self.now = Timestamp::from_millis(self.now.millis() + millis);
    }

    /// Plans a write without applying it.
    pub fn plan(&self, mode: Mode, input: &str) -> Result<WritePlan, Refusal> {
        let request = WriteRequest::new(mode, self.snapshot.scope.session(), object(input))?;
        self.plan_request(&request)
    }

    /// Plans a checked write without applying it.
    pub fn plan_request(&self, request: &WriteRequest) -> Result<WritePlan, Refusal> {
        let circumstances = WriteContext {
            now: self.now,
            limits: &self.limits,
            facts: &self.facts,
            dialect: Dialect::OMX,
        };
        write::plan_write(&self.snapshot, request, circumstances)
    }

    /// Writes, and applies the plan.
    pub fn try_write(&mut self, mode: Mode, input: &str) -> Result<WritePlan, Refusal> {
        let plan = self.plan(mode, input)?;
        self.snapshot.documents.extend(plan.writes.iter().cloned());
        Ok(plan)
    }

    /// Writes what must be allowed. Returns the document after it.
    pub fn write(&mut self, mode: Mode, input: &str) -> Document {
        match self.try_write(mode, input) {
            Ok(_) => self.get(mode).clone(),
            Err(refusal) => panic!("{} {input}: {refusal}", mode.name()),
        }
    }

    /// Writes what must be refused with this code. Returns the message.
    pub fn write_refused(&mut self, mode: Mode, code: RefusalCode, input: &str) -> String {
        match self.plan(mode, input) {
            Ok(plan) => panic!("{} {input} was allowed: {plan:?}", mode.name()),
            Err(refusal) => {
                assert_eq!(refusal.code, code, "{} {input}: {refusal}", mode.name());
                refusal.message
            }
        }
    }

    /// Cancels, and applies the plan.
    pub fn cancel(&mut self, target: cancel::CancelTarget) -> CancelPlan {
        let plan = cancel::plan_cancel(&self.snapshot, target, Dialect::OMX, self.now).unwrap();
        for entry in &plan.entries {
            self.snapshot.documents.insert(entry.mode, entry.document.clone());
        }
        plan
    }

    /// Decides a stop without applying the decision.
    pub fn decide(&self, event: &StopEvent) -> StopDecision {
        stop::decide(&self.snapshot, event, Dialect::OMX, self.now)
    }

    /// Decides a stop and applies the decision.
    pub fn stop(&mut self, event: &StopEvent) -> StopDecision {
        let decision = self.decide(event);
        let (writes, activity) = match &decision {
            StopDecision::Allow(_) => return decision,
            StopDecision::Hold(hold) => {
                let write = hold.document.clone().map(|document| (hold.mode, document));
                (write.into_iter().collect(), &hold.activity)
            }
            StopDecision::Exhausted(end) => (end.writes.clone(), &end.activity),
        };
        self.snapshot.documents.extend(writes);
        self.snapshot.activity = activity.clone();
        decision
    }

    /// The active modes, by name.
    pub fn active(&self) -> Vec<&'static str> {
        self.snapshot.active_modes().map(Mode::name).collect()
    }
}

/// Asserts that the document ended like this: state.md 2.3 and cancel.md 3.1.
pub fn assert_ended(document: &Document, outcome: &str, lifecycle: &str) {
    let seen = json(document);
    assert!(!document.is_active(), "{seen}");
    assert_eq!(document.get_str("run_outcome"), Some(outcome), "{seen}");
    assert_eq!(document.get_str("lifecycle_outcome"), Some(lifecycle), "{seen}");
    assert!(document.get_time("completed_at").is_some(), "{seen}");
}

//! Requests of any content, one after another, on documents of any content.

use omx_kernel::{Document, Refusal, RefusalCode, Value};
use omx_ops::{
    Context, RequestFields, cancel, parse_fields, state_clear, state_get_status, state_list_active,
    state_read, state_write, status,
};
use omx_testkit::fuzz::{Random, fuzz, request};

use crate::place::{FileBytes, FuzzProject, fields, last};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Read,
    Write,
    Clear,
    List,
    GetStatus,
    Status,
    Cancel,
}

impl Operation {
    fn any(rng: &mut Random) -> Self {
        match rng.below(12) {
            0 => Self::Read,
            1 => Self::Clear,
            2 => Self::List,
            3 => Self::GetStatus,
            4 => Self::Status,
            5..8 => Self::Cancel,
            _ => Self::Write,
        }
    }

    fn run(self, context: &Context<'_>, fields: RequestFields) -> Result<Value, Refusal> {
        match self {
            Self::Read => state_read(context, &fields.try_into()?),
            Self::Write => state_write(context, fields.try_into()?),
            Self::Clear => state_clear(context, &fields.try_into()?),
            Self::List => state_list_active(context, &fields.try_into()?),
            Self::GetStatus => state_get_status(context, &fields.try_into()?),
            Self::Status => status(context, &fields.try_into()?).map(|report| report.value()),
            Self::Cancel => cancel(context, &fields.try_into()?).map(|report| report.value()),
        }
    }

    fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Clear | Self::Cancel)
    }
}

/// For operations that take few fields: those of the request they know.
fn fitting(operation: Operation, text: String) -> String {
    let known: &[&str] = match operation {
        Operation::Write => return text,
        Operation::Cancel => &["mode", "session_id", "force", "every_session"],
        Operation::Clear => &["mode", "session_id", "all_sessions"],
        _ => &["mode", "session_id"],
    };
    let Some(all) = fields(text.as_bytes()) else { return text };
    let kept: Vec<String> = all
        .iter()
        .filter(|(name, _)| known.contains(&name.as_str()))
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", kept.join(","))
}

#[test]
fn fuzz_requests() {
    fuzz("fuzz_requests", |rng| {
        let place = FuzzProject::new(rng);
        let context = place.context();
        let mut before = place.bytes();
        for _ in 0..=rng.below(6) {
            let operation = Operation::any(rng);
            let mut text = request(rng);
            if !rng.one_in(10) {
                text = fitting(operation, text);
            }
            if !place.is_confined(&text) {
                continue;
            }
            let answer = parse_fields(&text).and_then(|fields| operation.run(&context, fields));
            let after = place.bytes();
            check(&place, operation, &text, &answer, &before, &after);
            before = after;
        }
    });
}

fn check(
    place: &FuzzProject,
    operation: Operation,
    text: &str,
    answer: &Result<Value, Refusal>,
    before: &FileBytes,
    after: &FileBytes,
) {
    let describe = || format!("{operation:?} {text}\n{answer:?}");
    assert!(place.outside(before) == place.outside(after), "changed outside\n{}", describe());
    let old = place.documents(before);
    let new = place.documents(after);
    let same_quarantine = place.quarantine(before) == place.quarantine(after);
    if answer.is_err() || !operation.changes() {
        assert!(old == new && same_quarantine, "changed, though it should not\n{}", describe());
    }
    match answer {
        Ok(value) => {
            serde_json::from_str::<serde::de::IgnoredAny>(value.as_json()).expect("JSON");
        }
        Err(refusal) => {
            assert!(!refusal.message.is_empty());
            assert!(!matches!(refusal.code, RefusalCode::Io | RefusalCode::Busy), "{}", describe());
        }
    }
    for line in after.iter().filter(|(path, _)| path.ends_with("events.jsonl")) {
        let lines = line.1.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.for_each(|line| drop(fields(line).expect("an event is one line of JSON")));
    }
    let request = fields(text.as_bytes()).unwrap_or_default();
    let says = |name: &str| last(&request, name) == Some("true");
    let removes = operation == Operation::Clear
        || (operation == Operation::Cancel && (says("force") || says("all")));
    if operation == Operation::Cancel && (removes || says("every_session")) {
        let is_stopped = matches!(answer, Err(refusal) if refusal.code == RefusalCode::UnsafePath);
        assert!(!is_stopped, "a neighbour stops a cancel\n{}", describe());
    }
    for (path, bytes) in &old {
        let was = fields(bytes);
        match (new.get(path), &was) {
            (Some(now), _) if now == bytes => {}
            (Some(now), Some(was)) => kept(operation, &request, was, now, &describe),
            (None, Some(_)) => assert!(removes, "{path:?} is gone\n{}", describe()),
            (_, None) => {
                let kept = place.quarantine(after);
                assert!(kept.contains(bytes), "{path:?} is lost\n{}", describe());
            }
        }
    }
    for (path, now) in new.iter().filter(|(path, now)| old.get(*path) != Some(now)) {
        assert!(fields(now).is_some(), "{path:?} is no document now\n{}", describe());
    }
    if answer.is_ok() && operation == Operation::Cancel && (removes || says("every_session")) {
        let is_live = |now: &[u8]| fields(now).is_some_and(|now| is_active(&now));
        assert!(!new.values().any(|now| is_live(now)), "still active\n{}", describe());
    }
}

/// Whether a document is that of an active run. One that also names an ending, by its
/// outcome or its phase, is not.
fn is_active(fields: &[(String, String)]) -> bool {
    let field = |name: &str| {
        let text = last(fields, name)?;
        let word = serde_json::from_str::<String>(text).map(|word| Value::string(&word));
        Some((name.to_owned(), word.unwrap_or_else(|_| Value::null())))
    };
    let named = ["run_outcome", "current_phase", "phase"].into_iter().filter_map(field);
    let active = ("active".to_owned(), Value::bool(last(fields, "active") == Some("true")));
    Document::new(std::iter::once(active).chain(named).collect()).is_active()
}

/// A document that was written over: what is not omx's own is as it was.
fn kept(
    operation: Operation,
    request: &[(String, String)],
    was: &[(String, String)],
    now: &[u8],
    said: &dyn Fn() -> String,
) {
    let now = fields(now).unwrap_or_default();
    let number = |fields: &[(String, String)]| {
        last(fields, "revision").and_then(|text| text.parse::<u64>().ok())
    };
    let (old, new) = (number(was).unwrap_or(0), number(&now).expect("a revision"));
    assert!(new > old || old == u64::MAX, "revision {old} became {new}\n{}", said());
    let says = |name: &str| last(request, name) == Some("true");
    let was_live = is_active(was);
    let is_live = is_active(&now);
    if operation == Operation::Write && !was_live && is_live && !says("resume") {
        // A new run begins with nothing of the old one.
        return;
    }
    let inner = last(request, "state").and_then(|state| fields(state.as_bytes()));
    let given: Vec<&String> =
        request.iter().chain(inner.iter().flatten()).map(|(name, _)| name).collect();
    let foreign = |fields: &[(String, String)]| -> Vec<(String, String)> {
        let is_foreign = |name: &String| name.starts_with('x') && !given.contains(&name);
        fields.iter().filter(|(name, _)| is_foreign(name)).cloned().collect()
    };
    assert!(foreign(was) == foreign(&now), "a foreign field changed\n{}", said());
}

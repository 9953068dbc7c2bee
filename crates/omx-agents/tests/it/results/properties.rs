//! Reader and schema agree: both accept generated results, and both reject
//! damaged ones.

use omx_agents::results::{AgentResult, ResultKind, ReviewKind};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::checker::{filled, misfit};

fn words() -> impl Strategy<Value = String> {
    ".{0,3}[a-z\u{e4}\"\\\\`{]{1,8}\\PC{0,9}"
}

fn path() -> impl Strategy<Value = String> {
    "/?[a-z.]{0,3}[a-z]{1,5}(/[a-z]{1,6}){0,3}(\\.rs)?"
}

fn maybe<T: std::fmt::Debug + Into<Value>>(
    some: impl Strategy<Value = T>,
) -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), some.prop_map(Into::into)]
}

fn finding() -> impl Strategy<Value = Value> {
    let severity = prop::sample::select(vec!["blocker", "major", "minor"]);
    (words(), maybe(path()), maybe(1..=u32::MAX), severity, ".*").prop_map(
        |(title, file, line, severity, detail)| {
            json!({"title": title, "file": file, "line": line, "severity": severity, "detail": detail})
        },
    )
}

/// Subtasks in any order, each blocked only by subtasks drawn before it.
fn subtasks() -> impl Strategy<Value = Vec<Value>> {
    let one = (
        words(),
        ".*",
        vec(path(), 0..3),
        vec(any::<prop::sample::Index>(), 0..4),
        vec(words(), 0..3),
    );
    let all = vec(one, 0..8).prop_map(|all| {
        let subtask = |(at, (subject, description, files, blockers, acceptance))| {
            let blockers: Vec<prop::sample::Index> = blockers;
            let blocked_by: Vec<_> = blockers
                .into_iter()
                .filter(|_| at > 0)
                .map(|blocker| format!("t {}", blocker.index(at)))
                .collect();
            json!({
                "id": format!("t {at}"), "subject": subject, "description": description,
                "role": "executor", "files": files, "blocked_by": blocked_by,
                "acceptance": acceptance,
            })
        };
        all.into_iter().enumerate().map(subtask).collect::<Vec<_>>()
    });
    all.prop_shuffle()
}

fn plan() -> impl Strategy<Value = Value> {
    (words(), words(), words(), words(), subtasks()).prop_map(
        |(title, summary, plan, tests, subtasks)| {
            json!({
                "title": title, "summary": summary, "plan_markdown": plan,
                "test_spec_markdown": tests, "subtasks": subtasks,
            })
        },
    )
}

fn review(kind: ReviewKind) -> impl Strategy<Value = Value> {
    let verdict = prop::sample::select(kind.verdicts().map(|verdict| verdict.as_str()).to_vec());
    (verdict, vec(finding(), 0..4), words()).prop_map(move |(verdict, findings, summary)| {
        json!({
            "lane": kind.lane().as_str(), "verdict": verdict, "findings": findings,
            "summary": summary,
        })
    })
}

fn work() -> impl Strategy<Value = Value> {
    let command = (words(), any::<i64>())
        .prop_map(|(command, code)| json!({"command": command, "exit_code": code}));
    (words(), vec(path(), 0..4), vec(command, 0..4), any::<bool>(), maybe(words())).prop_map(
        |(summary, changed_files, commands, done, reason)| {
            json!({
                "summary": summary, "changed_files": changed_files, "commands": commands,
                "done": done, "blocked_reason": reason,
            })
        },
    )
}

fn verification() -> impl Strategy<Value = Value> {
    let check = (words(), maybe(words()), maybe(any::<i64>()), ".*").prop_map(
        |(name, command, code, evidence)| {
            json!({"name": name, "command": command, "exit_code": code, "evidence": evidence})
        },
    );
    (any::<bool>(), vec(check, 0..4), vec(finding(), 0..4)).prop_map(|(passed, checks, findings)| {
        json!({"passed": passed, "checks": checks, "findings": findings})
    })
}

fn any_result() -> impl Strategy<Value = (ResultKind, Value)> {
    prop::sample::select(ResultKind::ALL.to_vec()).prop_flat_map(|kind| {
        let value = match kind {
            ResultKind::Plan => plan().boxed(),
            ResultKind::Review(review_kind) => review(review_kind).boxed(),
            ResultKind::Work => work().boxed(),
            ResultKind::Verification => verification().boxed(),
        };
        (Just(kind), value)
    })
}

/// What a program may get wrong about one value.
#[derive(Clone, Debug)]
enum Damage {
    Remove,
    Add,
    Become(Value),
}

fn damage() -> impl Strategy<Value = Damage> {
    let other = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(7),
        json!(1.5),
        json!("word"),
        json!([]),
        json!({}),
    ]);
    prop_oneof![Just(Damage::Remove), Just(Damage::Add), other.prop_map(Damage::Become)]
}

/// Pointers to all values below the root.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, v)| (name.clone(), v)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, v)| (n.to_string(), v)).collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        let pointer = format!("{at}/{name}");
        pointers(value, &pointer, all);
        all.push(pointer);
    }
}

/// Applies the damage; false if it would not change the form.
fn apply(damage: Damage, pointer: &str, value: &mut Value) -> bool {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match damage {
        Damage::Remove => match value.pointer_mut(parent).unwrap() {
            Value::Object(fields) => fields.remove(name).is_some(),
            _ => false,
        },
        Damage::Add => match value.pointer_mut(parent).unwrap() {
            Value::Object(fields) => fields.insert("confidence".to_owned(), json!(1)).is_none(),
            _ => false,
        },
        Damage::Become(new) => {
            let old = value.pointer_mut(pointer).unwrap();
            let changes = std::mem::discriminant(old) != std::mem::discriminant(&new);
            if changes {
                *old = new;
            }
            changes
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn conductor_4_2_generated_results_match_reader_and_schema((kind, value) in any_result()) {
        prop_assert_eq!(misfit(&kind.schema(), &value), None);
        let result = AgentResult::read(kind, value.clone());
        prop_assert!(result.is_ok(), "{} {value}", result.unwrap_err());
        let result = result.unwrap();
        let written = serde_json::to_value(&result).unwrap();
        prop_assert_eq!(&written, &value, "nothing is lost or added");
        prop_assert_eq!(AgentResult::read(kind, written).unwrap(), result);
    }

    #[test]
    fn conductor_4_2_reader_and_schema_reject_the_same_damage(
        (kind, mut value) in any_result(),
        damage in damage(),
        at in any::<prop::sample::Index>(),
    ) {
        let mut all = Vec::new();
        pointers(&value, "", &mut all);
        let pointer = at.get(&all).clone();
        prop_assume!(apply(damage, &pointer, &mut value));
        let read = AgentResult::read(kind, value.clone());
        // The reader treats an absent optional field as null.
        let misfit = misfit(&kind.schema(), &filled(&kind.schema(), value.clone()));
        prop_assert_eq!(read.is_ok(), misfit.is_none(), "{:?} {:?} {}", misfit, read, value);
    }
}

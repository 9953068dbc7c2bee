//! quality.md R16 for results: no panic, no hang, and an accepted result is
//! exactly what the agent wrote.

use omx_agents::event::TurnAnswer;
use omx_agents::results::{AgentResult, ResultKind, parse};
use omx_testkit::fuzz::{Random, fuzz, json_value, mutated};
use serde_json::Value;

use super::checker::{filled, misfit};
use super::samples::good;

fn text(rng: &mut Random, kind: ResultKind) -> String {
    let mut json = if rng.one_in(2) {
        good(kind).to_string()
    } else {
        serde_json::to_string_pretty(&good(kind)).unwrap()
    };
    if !rng.one_in(4) {
        json = String::from_utf8_lossy(&mutated(rng, json.as_bytes())).into_owned();
    }
    let whole = match rng.below(4) {
        0 => json,
        1 => format!("Words.\n```json\n{json}\n```\n"),
        2 => format!("```json\n{{}}\n```\n\n````json\r\n{json}\r\n````"),
        _ => format!("```json\n{json}\n```"),
    };
    if rng.one_in(2) {
        String::from_utf8_lossy(&mutated(rng, whole.as_bytes())).into_owned()
    } else {
        whole
    }
}

#[test]
fn fuzz_agent_results() {
    fuzz("fuzz_agent_results", |rng| {
        let requested = *rng.choose(&ResultKind::ALL);
        let given = if rng.one_in(8) { *rng.choose(&ResultKind::ALL) } else { requested };
        let structured = rng.one_in(8).then(|| json_value(rng, 4));
        let structured = structured.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        let answer = TurnAnswer { text: text(rng, given), structured };
        match parse(requested, &answer) {
            Err(problem) => {
                let sentence = problem.to_string();
                assert!(sentence.len() < 2_000 && sentence.lines().count() == 1, "{sentence}");
                assert!(problem.retry_prompt().lines().count() == 1);
            }
            Ok(result) => {
                let written = serde_json::to_value(&result).unwrap();
                assert_eq!(misfit(&requested.schema(), &written), None);
                let again = TurnAnswer { text: written.to_string(), structured: None };
                assert_eq!(parse(requested, &again).as_ref(), Ok(&result));
                assert_eq!(AgentResult::read(requested, written), Ok(result));
            }
        }
    });
}

#[test]
fn fuzz_values_of_agent_results() {
    fuzz("fuzz_values_of_agent_results", |rng| {
        let kind = *rng.choose(&ResultKind::ALL);
        let mut value = good(kind);
        for _ in 0..=rng.below(3) {
            let Ok(new) = serde_json::from_str(&json_value(rng, 3)) else { continue };
            *anywhere(rng, &mut value) = new;
        }
        let schema = kind.schema();
        if let Ok(result) = AgentResult::read(kind, value.clone()) {
            assert_eq!(misfit(&schema, &filled(&schema, value.clone())), None, "{value}");
            let written = serde_json::to_value(&result).unwrap();
            assert_eq!(AgentResult::read(kind, written), Ok(result));
        }
    });
}

fn anywhere<'a>(rng: &mut Random, value: &'a mut Value) -> &'a mut Value {
    let inner = match value {
        Value::Array(items) => items.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    if inner == 0 || rng.one_in(4) {
        return value;
    }
    let at = rng.below(inner);
    let chosen = match value {
        Value::Array(items) => items.get_mut(at),
        Value::Object(fields) => fields.values_mut().nth(at),
        _ => None,
    };
    anywhere(rng, chosen.unwrap())
}

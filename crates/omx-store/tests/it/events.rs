//! The event log: which run, session and team a change belongs to.

use std::fs;

use omx_kernel::{Document, Scope, SessionId, Value};
use omx_store::{EventKind, LogEvent};
use serde_json::json;

use crate::stage::{StoreFixture, at, run_id};

/// Logs an event and returns the last line of the log.
fn log(stage: &StoreFixture, event: LogEvent) -> serde_json::Value {
    stage.lock().log(&[event]);
    let text = fs::read_to_string(stage.store.tree().join("log/events.jsonl")).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn session(name: &str) -> Scope {
    Scope::Session(SessionId::new(name).unwrap())
}

#[test]
fn views_4_an_event_of_a_runs_session_names_the_run() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let event = |scope: &Scope| {
        LogEvent::new(at(0), "cli", EventKind::StateWrite, scope)
            .with_data([("mode", Value::string("ralph"))])
    };
    let line = log(&stage, event(&session(run_id(1).as_str())));
    let expected = json!({
        "time": at(0).to_string(),
        "run": run_id(1).as_str(),
        "session": run_id(1).as_str(),
        "team": null,
        "actor": "cli",
        "kind": "state_write",
        "data": {"mode": "ralph"},
    });
    assert_eq!(line, expected);
    // A host may use ids of the same form for its own sessions.
    let line = log(&stage, event(&session(run_id(2).as_str())));
    assert_eq!((&line["run"], &line["session"]), (&json!(null), &json!(run_id(2).as_str())));
    let line = log(&stage, event(&Scope::Compatibility));
    assert_eq!((&line["run"], &line["session"]), (&json!(null), &json!(null)));
}

#[test]
fn views_4_an_event_of_a_teams_document_names_the_team() {
    let stage = StoreFixture::new();
    let document = Document::new(vec![("team_name".to_owned(), Value::string("alpha"))]);
    let event =
        LogEvent::new(at(0), "mcp", EventKind::Cancel, &session("s")).with_team_of(&document);
    let line = log(&stage, event);
    assert_eq!((&line["team"], &line["kind"]), (&json!("alpha"), &json!("cancel")));
}

#[test]
fn an_event_that_is_too_long_is_logged_without_its_details() {
    let stage = StoreFixture::new();
    drop(stage.create(&run_id(1)));
    let scope = session(run_id(1).as_str());
    let event = LogEvent::new(at(0), "hook", EventKind::Held, &scope)
        .with_data([("text", Value::string(&"x".repeat(100_000)))]);
    let line = log(&stage, event);
    assert_eq!(line["data"], json!({"cut": true}));
    assert_eq!((&line["run"], &line["kind"]), (&json!(run_id(1).as_str()), &json!("held")));
}

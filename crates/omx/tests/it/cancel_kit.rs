//! What the tests of cancel share: planted documents, the log, and what may not change.

use std::collections::BTreeMap;
use std::path::PathBuf;

use omx_testkit::TestProject;
use serde_json::{Value, json};

/// All modes in the order in which they are cancelled.
pub const MODES: [&str; 11] = [
    "autopilot",
    "ralph",
    "ultrawork",
    "ecomode",
    "ultraqa",
    "swarm",
    "ultrapilot",
    "pipeline",
    "team",
    "ralplan",
    "code-review",
];

/// The files that force removes besides documents, as both seeds list them.
pub const LEGACY: &str = "autopilot-state.json ralph-state.json ralph-plan-state.json \
    ralph-verification.json ultrawork-state.json ecomode-state.json ultraqa-state.json swarm.db \
    swarm.db-wal swarm.db-shm swarm-active.marker swarm-tasks.db ultrapilot-state.json \
    ultrapilot-ownership.json pipeline-state.json plan-consensus.json ralplan-state.json \
    boulder.json hud-state.json subagent-tracking.json subagent-tracker.lock \
    rate-limit-daemon.pid rate-limit-daemon.log";

/// A live phase of a mode.
pub fn live_phase(mode: &str) -> &'static str {
    match mode {
        "autopilot" => "ralph",
        "ultraqa" => "diagnose",
        "pipeline" => "stage:build",
        "team" => "team-exec",
        "ralplan" => "critic-review",
        "code-review" => "reviewing",
        _ => "executing",
    }
}

/// Where a mode's document is, below the project's root.
pub fn path(session: Option<&str>, mode: &str) -> String {
    match session {
        Some(session) => format!(".omx/state/sessions/{session}/{mode}-state.json"),
        None => format!(".omx/state/{mode}-state.json"),
    }
}

/// Plants a document, active unless `more` says otherwise.
pub fn plant(project: &TestProject, session: Option<&str>, mode: &str, more: &Value) {
    let mut document = json!({
        "mode": mode, "active": true, "current_phase": live_phase(mode), "iteration": 2,
        "run_outcome": "continue", "started_at": "2026-01-01T00:00:00.000Z",
        "updated_at": now(), "foreign": {"b": 1, "a": 2}, "revision": 7,
    });
    if let Some(session) = session {
        document["session_id"] = json!(session);
    }
    for (name, value) in more.as_object().unwrap() {
        document[name] = value.clone();
    }
    project.write(&path(session, mode), document.to_string());
}

/// A planted document that has been idle for longer than two hours.
pub fn plant_stale(project: &TestProject, session: Option<&str>, mode: &str) {
    plant(project, session, mode, &json!({"updated_at": "2026-01-01T00:00:00.000Z"}));
}

/// The time as documents carry it.
pub fn now() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%FT%T.000Z"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The stored document.
#[track_caller]
pub fn stored(project: &TestProject, session: Option<&str>, mode: &str) -> Value {
    serde_json::from_str(&project.read(path(session, mode))).unwrap()
}

/// Whether the stored document is active.
#[track_caller]
pub fn is_active(project: &TestProject, session: Option<&str>, mode: &str) -> bool {
    stored(project, session, mode)["active"] == true
}

/// Everything of the state root but these paths and the lock.
pub fn all_but(project: &TestProject, changed: &[String]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut bytes = project.bytes(".omx/state");
    bytes.remove(&project.state(".lock"));
    for path in changed {
        assert!(bytes.remove(&project.root().join(path)).is_some(), "{path} is not there");
    }
    bytes
}

/// The cancel events of the log: mode, linked_to, session.
pub fn cancels(project: &TestProject) -> Vec<(String, Option<String>, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    project
        .read(".omx/log/events.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|event| event["kind"] == "cancel")
        .map(|event| {
            let data = &event["data"];
            (text(&data["mode"]).unwrap(), text(&data["linked_to"]), text(&event["session"]))
        })
        .collect()
}

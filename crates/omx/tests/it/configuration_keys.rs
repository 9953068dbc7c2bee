//! configuration.md 2: every key with its default, its valid and invalid values, in
//! files, in the schema and in its effect.

use std::fs;

use omx_testkit::{MODES, TestProject};
use serde_json::{Value, json};

use crate::project;

/// `(key, default, valid values, invalid values)`
fn keys() -> Vec<(String, Option<Value>, Value, Value)> {
    let count = || (json!([1, 20, 4_000_000]), json!([0, -1, 1.5, "3", true, [], {}]));
    let text = || (json!(["x", "a b"]), json!(["", 3, true, ["x"]]));
    let span = || {
        (
            json!(["90m", "2h", "1 day", "30 days", "45s"]),
            json!(["", "h", "2", 2, "-1h", "0h", "2 weeks"]),
        )
    };
    let mut keys = vec![
        ("agent", None, json!(["codex", "claude", "gemini", "rehearsal"]), json!(["", "gpt", 1])),
        ("check", None, text().0, text().1),
        ("allow", Some(json!("commands")), json!(["edits", "commands", "all"]), json!(["none", 1])),
        (
            "keywords",
            Some(json!("explicit")),
            json!(["explicit", "phrases", "off"]),
            json!(["on", false]),
        ),
        ("budget.tokens", None, count().0, count().1),
        ("budget.usd", None, json!([0, 0.5, 1.10, 100]), json!([-0.01, "5", true])),
        ("budget.time", None, span().0, span().1),
        ("prices.gpt-5.1.input", None, json!([0, 1.25]), json!([-1, "1"])),
        ("prices.small.output", None, json!([10]), json!([-1, true])),
        ("limits.max_holds", Some(json!(200)), count().0, count().1),
        ("limits.patience", Some(json!("2h")), span().0, span().1),
        ("limits.check_time", Some(json!("30m")), span().0, span().1),
        (
            "sandbox.mode",
            Some(json!("auto")),
            json!(["required", "auto", "off"]),
            json!(["on", true]),
        ),
        ("retention", Some(json!("30 days")), span().0, span().1),
        ("team.maxAgents", Some(json!(20)), count().0, count().1),
        ("team.defaultAgentType", Some(json!("executor")), text().0, text().1),
        ("team.monitorIntervalMs", Some(json!(30000)), count().0, count().1),
        ("team.shutdownTimeoutMs", Some(json!(15000)), count().0, count().1),
        (
            "team.store",
            None,
            json!(["postgres://h/d", "postgresql://me@h:5432/d", "postgres:///d?host=/run/pg"]),
            json!(["mysql://h/d", "h/d", "", 1]),
        ),
        (
            "hud.preset",
            Some(json!("focused")),
            json!(["minimal", "focused", "full"]),
            json!(["big", 2]),
        ),
    ]
    .into_iter()
    .map(|(key, default, good, bad)| (key.to_owned(), default, good, bad))
    .collect::<Vec<_>>();
    for agent in ["codex", "claude", "gemini", "rehearsal"] {
        for tier in ["low", "medium", "high"] {
            keys.push((format!("tiers.{agent}.{tier}"), None, text().0, text().1));
        }
    }
    for mode in MODES {
        keys.push((format!("limits.max_iterations.{mode}"), None, count().0, count().1));
    }
    keys
}

fn in_json(key: &str, value: &Value) -> String {
    let nested = key.rsplit('.').fold(value.clone(), |inner, part| json!({part: inner}));
    nested.to_string()
}

fn in_toml(key: &str, value: &Value) -> String {
    format!("{key} = {value}\n")
}

#[track_caller]
fn listed(project: &TestProject) -> Value {
    project.omx(&["config", "list", "--json"]).ok()
}

#[test]
fn configuration_2_without_files_the_defaults_are_in_force() {
    let expected: serde_json::Map<String, Value> =
        keys().into_iter().filter_map(|(key, default, ..)| Some((key, default?))).collect();
    assert_eq!(listed(&project()), Value::Object(expected));
}

#[test]
fn configuration_2_every_key_accepts_its_values_in_both_file_formats() {
    let project = project();
    for (key, _, good, _) in keys() {
        for value in good.as_array().unwrap() {
            project.write(".omx-config.json", in_json(&key, value));
            project.omx(&["trust", "--yes"]);
            assert_eq!(listed(&project)[&key], *value, "{key} in JSON");
            project.write(".omx-config.json", "{}");
            project.write(".omx/config.toml", in_toml(&key, value));
            project.omx(&["trust", "--yes"]);
            assert_eq!(listed(&project)[&key], *value, "{key} in TOML");
            project.write(".omx/config.toml", "");
        }
    }
}

#[test]
fn configuration_2_every_key_rejects_invalid_values() {
    let project = project();
    for (key, _, _, bad) in keys() {
        for value in bad.as_array().unwrap() {
            project.write(".omx-config.json", in_json(&key, value));
            let outcome = project.omx(&["config", "list", "--json"]);
            assert_eq!(outcome.refused(), "invalid_input", "{key} = {value}");
            let message = outcome.json()["error"].as_str().unwrap().to_owned();
            assert!(message.contains(".omx-config.json:1: "), "{message}");
            assert!(message.contains(&key), "{key} = {value}: {message}");
        }
    }
}

#[test]
fn configuration_2_every_key_can_be_set_and_read() {
    let project = project();
    for (key, _, good, _) in keys() {
        let value = &good[0];
        let text = value.as_str().map_or(value.to_string(), str::to_owned);
        for scope in [&[][..], &["--project"]] {
            let outcome = project.omx(&[&["config", "set", &key, &text], scope].concat());
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
            assert_eq!(project.omx(&["config", "get", &key]).stdout, format!("{text}\n"));
        }
    }
}

#[test]
fn configuration_2_a_password_in_the_store_is_rejected_everywhere() {
    for address in [
        "postgres://me:hunter2@h/d",
        "postgresql://me:hunter2@h/d",
        "postgres://:hunter2@h/d",
        "postgres://h/d?password=hunter2",
        "postgres://h/d?sslmode=require&password=hunter2",
    ] {
        let project = project();
        let refused = |outcome: omx_testkit::CommandOutcome| {
            assert_eq!(outcome.code, Some(1), "{outcome:?}");
            let message = outcome.stdout + &outcome.stderr;
            assert!(message.contains("must not contain a password"), "{message}");
            assert!(!message.contains("hunter2"), "a secret is not repeated: {message}");
        };
        let list = ["config", "list", "--json"];
        refused(project.omx_env(&list, &[("OMX_STORE", address)]));
        refused(project.omx(&[&list[..], &["-c", &format!("team.store={address}")]].concat()));
        refused(project.omx(&["config", "set", "team.store", address]));
        refused(project.omx(&["config", "set", "--project", "team.store", address]));
        project.write(".omx-config.json", in_json("team.store", &json!(address)));
        refused(project.omx(&list));
        project.write(".omx-config.json", "{}");
        project.write(".omx/config.toml", in_toml("team.store", &json!(address)));
        refused(project.omx(&list));
    }
}

#[test]
fn configuration_2_notify_accepts_any_target() {
    let project = project();
    let text = "[notify.slack]\nurl = \"https://example.invalid\"\nretries = 3\n";
    project.write(".omx/config.toml", text);
    project.omx(&["trust", "--yes"]);
    let found = listed(&project);
    assert_eq!(found["notify.slack.url"], "https://example.invalid");
    assert_eq!(found["notify.slack.retries"], 3);
    project.write(".omx/config.toml", "notify = 3\n");
    assert_eq!(project.omx(&["config", "list"]).code, Some(1));
}

#[test]
fn configuration_2_limits_set_the_max_iterations_of_a_start() {
    let project = project();
    project.write(
        ".omx-config.json",
        r#"{"limits":{"max_iterations":{"ralph":7,"plan-consensus":2}}}"#,
    );
    project.put(json!({"mode":"ralph","active":true,"session_id":"a"}));
    assert_eq!(project.session_document("a", "ralph")["max_iterations"], 7);
    project.put(json!({"mode":"ralplan","active":true,"session_id":"b"}));
    assert_eq!(project.session_document("b", "ralplan")["max_iterations"], 2, "by its older name");
    project.put(json!({"mode":"ultraqa","active":true,"session_id":"c"}));
    assert_eq!(project.session_document("c", "ultraqa")["max_iterations"], 5);
    let named = json!({"mode":"ralph","active":true,"session_id":"d","max_iterations":3});
    project.put(named);
    assert_eq!(project.session_document("d", "ralph")["max_iterations"], 3);
}

#[test]
fn configuration_1_the_schema_is_json_and_has_every_key() {
    let project = project();
    let schema = project.omx(&["config", "schema"]).ok();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    for (key, default, good, _) in keys() {
        let mut at = &schema;
        let parts = match key.strip_prefix("prices.").and_then(|rest| rest.rsplit_once('.')) {
            Some((model, column)) => vec!["prices", model, column],
            None => key.split('.').collect(),
        };
        for part in parts {
            assert_eq!(at["type"], "object", "{key}");
            let others = &at["additionalProperties"];
            at = if others.is_object() { others } else { &at["properties"][part] };
        }
        assert!(at["description"].as_str().is_some_and(|text| !text.is_empty()), "{key}");
        assert_eq!(at.get("default"), default.as_ref(), "{key}");
        let kind = match &good[good.as_array().unwrap().len() - 1] {
            Value::String(_) => json!("string"),
            _ if key == "budget.usd" || key.starts_with("prices.") => json!("number"),
            _ => json!("integer"),
        };
        assert_eq!(at["type"], kind, "{key}");
        if let Some(words) = at.get("enum") {
            assert_eq!(*words, good, "{key}");
        }
    }
    assert_eq!(schema["properties"]["notify"]["type"], "object");
}

/// Both spellings of the key, and its neighbors, in one file.
#[test]
fn a_short_key_and_its_section_can_be_set_in_any_order() {
    for first in ["sandbox", "sandbox.mode", "sandbox.write"] {
        let project = project();
        let file = project.home().join(".config/omx/config.toml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "sandbox = \"required\" # mine\nallow = \"edits\"\n").unwrap();
        let value = |key: &str| if key == "sandbox.write" { "/a, /b" } else { "required" };
        for key in [first, "sandbox.write", "sandbox", "sandbox.hide", "sandbox.mode"] {
            let value = if key == "sandbox.hide" { "/c" } else { value(key) };
            let outcome = project.omx(&["config", "set", key, value]);
            assert_eq!(outcome.code, Some(0), "{first}, {key}: {outcome:?}");
        }
        let listed = project.omx(&["config", "list", "--json"]).ok();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(listed["sandbox.mode"], "required", "{text}");
        assert_eq!(listed["sandbox.write"], json!(["/a", "/b"]), "{text}");
        assert_eq!(listed["sandbox.hide"], json!(["/c"]), "{text}");
        assert_eq!(listed["allow"], "edits", "{text}");
        assert!(text.contains("# mine"), "{text}");
    }
}

//! state.md 2.1 and 2.2: the document itself. omx preserves foreign content byte for
//! byte, whoever wrote the file and however odd it looks.

use std::fs;

use omx_testkit::{McpClient, TestProject};
use serde_json::{Value, json};

use crate::project;

/// Values that do not survive a parser, each in its own field.
const FOREIGN: &[&str] = &[
    r#""zeta": 18446744073709551617"#,
    r#""price": 1.10"#,
    r#""lone": "\ud800""#,
    r#""huge": 1e400"#,
    r#""tiny": -0.0E-7"#,
    r#""escaped": "\u0041\/\u00e9é\b""#,
    r#""nested": { "b" : 1.0 ,  "a":[ 1,2 , {} ] , "b" : "\udfff" }"#,
    "\"spread\": [\n      1,\n\t2\n  ]",
    r#""twice": 1"#,
    r#""alpha": null"#,
    r#""twice": 2"#,
    r#""": "no name""#,
];

/// The parts of a stored document, one field each, in order.
fn fields_of(text: &str) -> Vec<String> {
    let inner = text.strip_prefix("{\n  ").unwrap().strip_suffix("\n}\n").unwrap();
    inner
        .split(",\n  \"")
        .enumerate()
        .map(|(i, f)| format!("{}{f}", if i == 0 { "" } else { "\"" }))
        .collect()
}

fn hand_written(project: &TestProject, text: &str) {
    project.write(".omx/state/ralph-state.json", text);
}

fn stored(project: &TestProject) -> String {
    project.read(".omx/state/ralph-state.json")
}

/// A document by hand with the foreign fields among omx's own.
fn odd_document() -> String {
    let mut parts = FOREIGN.to_vec();
    parts.insert(2, r#""revision": 7"#);
    parts.insert(5, r#""active": true"#);
    parts.insert(9, r#""current_phase": "executing""#);
    format!("{{\n  {}\n}}\n", parts.join(",\n  "))
}

/// Only values of omx's own fields differ between the two, and nothing moved.
#[track_caller]
fn same_but_own(before: &str, after: &str, own: &[&str]) {
    let name = |field: &str| field.split("\": ").next().unwrap().trim_start_matches('"').to_owned();
    let foreign = |text: &str| -> Vec<String> {
        fields_of(text).into_iter().filter(|field| !own.contains(&name(field).as_str())).collect()
    };
    assert_eq!(foreign(before), foreign(after));
    let expected_order =
        |text: &str| -> Vec<String> { fields_of(text).iter().map(|f| name(f)).collect() };
    assert_eq!(expected_order(before), expected_order(after)[..expected_order(before).len()]);
}

#[test]
fn state_2_1_a_start_fills_the_common_fields_in_their_order() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"task_description":"t","session_id":"s"}));
    let text = project.read(project.session("s", "ralph-state.json"));
    let names: Vec<String> =
        fields_of(&text).iter().map(|field| field.split('"').nth(1).unwrap().to_owned()).collect();
    assert_eq!(
        names,
        [
            "mode",
            "active",
            "current_phase",
            "iteration",
            "max_iterations",
            "run_outcome",
            "task_description",
            "started_at",
            "updated_at",
            "session_id",
            "revision",
        ]
    );
    let document = project.session_document("s", "ralph");
    assert_eq!(document["session_id"], "s");
    assert_eq!(document["revision"], 1);
    for name in ["started_at", "updated_at"] {
        let time = document[name].as_str().unwrap();
        assert!(time.len() == 24 && time.ends_with('Z') && &time[10..11] == "T", "{time}");
    }
}

#[test]
fn state_2_1_every_write_sets_updated_at_and_revision_itself() {
    let project = project();
    let long_ago = "2001-02-03T04:05:06Z";
    project.put(json!({"mode":"ralph","active":true,"updated_at":long_ago,"started_at":long_ago}));
    for revision in 2..5 {
        let before = project.document("ralph");
        assert_ne!(before["updated_at"], long_ago);
        assert_eq!(before["started_at"], long_ago, "one that is given is kept");
        let answer = project.put(json!({"mode":"ralph","note":revision,"updated_at":long_ago}));
        assert_eq!(answer["revision"], revision);
        let after = project.document("ralph");
        assert_eq!(after["revision"], revision);
        assert!(after["updated_at"].as_str() >= before["updated_at"].as_str());
    }
    let before = project.kept();
    for input in [json!({"revision":9}), json!({"state":{"revision":9}})] {
        let mut input = input;
        input["mode"] = json!("ralph");
        assert_eq!(project.state_op("write", &input).refused(), "invalid_input");
    }
    assert_eq!(project.kept(), before);
}

#[test]
fn state_2_1_iteration_never_exceeds_max_iterations() {
    let project = project();
    let too_many = json!({"mode":"ralph","active":true,"iteration":4,"max_iterations":3});
    assert_eq!(project.state_op("write", &too_many).refused(), "invalid_input");
    project.put(json!({"mode":"ralph","active":true,"iteration":3,"max_iterations":3}));
    let over = project.state_op("write", &json!({"mode":"ralph","iteration":4}));
    assert_eq!(over.refused(), "invalid_input");
    assert_eq!(project.document("ralph")["iteration"], 3);
}

#[test]
fn state_2_1_the_folder_wins_over_a_different_session_id() {
    let project = project();
    let text = r#"{"session_id":"other","mode":"team","active":true,"current_phase":"executing"}"#;
    project.write(".omx/state/sessions/mine/ralph-state.json", text);
    project.put(json!({"mode":"ralph","session_id":"mine","note":1}));
    let document = project.session_document("mine", "ralph");
    assert_eq!((&document["session_id"], &document["mode"]), (&json!("mine"), &json!("ralph")));
}

#[test]
fn state_2_2_a_hundred_writes_of_other_fields_keep_every_foreign_byte() {
    let project = project();
    let before = odd_document();
    hand_written(&project, &before);
    let mut server: McpClient = project.mcp();
    for round in 0..100 {
        let input =
            json!({"mode":"ralph","iteration":round / 3,"task_description":format!("{round}")});
        if round % 10 == 0 {
            project.put(input);
        } else {
            let (failed, answer) = server.call("state_write", &input);
            assert!(!failed, "{answer}");
        }
    }
    let after = stored(&project);
    same_but_own(
        &before,
        &after,
        &[
            "revision",
            "active",
            "current_phase",
            "mode",
            "iteration",
            "task_description",
            "updated_at",
            "run_outcome",
        ],
    );
    assert!(after.contains("\"revision\": 107"));
    for part in FOREIGN {
        assert!(after.contains(part), "{part} in {after}");
    }
}

#[test]
fn state_2_2_cancel_keeps_every_foreign_byte_too() {
    let project = project();
    let before = odd_document();
    hand_written(&project, &before);
    project.omx(&["cancel", "--json"]).ok();
    let own = [
        "revision",
        "active",
        "current_phase",
        "mode",
        "updated_at",
        "run_outcome",
        "lifecycle_outcome",
        "completed_at",
        "ended_in_phase",
    ];
    same_but_own(&before, &stored(&project), &own);
}

#[test]
fn state_2_2_request_values_are_stored_byte_for_byte() {
    let project = project();
    let odd = r#"{ "b" : 18446744073709551617, "a": [1.10 ,"\ud800"] }"#;
    let input = format!(r#"{{"mode":"ralph","active":true,"state":{{"x": {odd}}},"y":1e400}}"#);
    project.omx(&["state", "write", "--input", &input, "--json"]).ok();
    project.put(json!({"mode":"ralph","iteration":1}));
    let text = stored(&project);
    assert!(text.contains(&format!("\"x\": {odd}")) && text.contains("\"y\": 1e400"), "{text}");
    let report = project.omx(&["state", "read", "--mode", "ralph", "--json"]).stdout;
    let compact = r#"{"b":18446744073709551617,"a":[1.10,"\ud800"]}"#;
    assert!(report.contains(compact) && report.lines().count() == 1, "{report}");
}

#[test]
fn state_2_2_field_names_keep_their_spelling() {
    let project = project();
    let names = [r#""gr\u00f6\u00dfe""#, r#""a\/b""#, r#""\ud800""#, r#""tab\u0009""#];
    let fields: Vec<String> = names.iter().map(|name| format!("{name}: 1")).collect();
    hand_written(&project, &format!("{{{},\"active\":true}}", fields.join(",")));
    project.put(json!({"mode":"ralph","iteration":1}));
    for name in names {
        assert!(stored(&project).contains(&format!("{name}: 1")), "{}", stored(&project));
    }
    project.put(json!({"mode":"ralph","größe":2}));
    let text = stored(&project);
    assert!(text.contains(r#""gr\u00f6\u00dfe": 2"#) && !text.contains("größe"), "{text}");
    let report = project.omx(&["state", "read", "--mode", "ralph", "--json"]).stdout;
    assert!(report.starts_with(r#"{"gr\u00f6\u00dfe":2,"a\/b":1,"\ud800":1,"#), "{report}");
}

#[test]
fn state_2_2_a_field_set_to_null_is_removed_and_the_others_keep_their_order() {
    let project = project();
    hand_written(&project, r#"{"z":1,"active":true,"gone":2,"y":3,"gone":4,"a":5}"#);
    project.put(json!({"mode":"ralph","gone":null}));
    let names: Vec<String> = fields_of(&stored(&project))
        .iter()
        .map(|field| field.split('"').nth(1).unwrap().to_owned())
        .take(4)
        .collect();
    assert_eq!(names, ["z", "active", "y", "a"]);
}

/// Files as people and other programs write them; all say the same.
fn spellings() -> Vec<(&'static str, String)> {
    let plain = r#"{"owner":"me","active":true,"current_phase":"executing"}"#.to_owned();
    let pretty =
        "{\n    \"owner\": \"me\",\n    \"active\": true,\n    \"current_phase\": \"executing\"\n}";
    vec![
        ("compact", plain.clone()),
        ("pretty", pretty.to_owned()),
        ("CRLF", pretty.replace('\n', "\r\n")),
        ("BOM", format!("\u{feff}{pretty}\n")),
        ("BOM and CRLF", format!("\u{feff}{}", pretty.replace('\n', "\r\n"))),
        ("white space around", format!(" \n\t{plain}\n\n")),
        ("odd order", r#"{"current_phase":"executing","owner":"me","active":true}"#.to_owned()),
        ("own names twice", r#"{"active":false,"owner":"me","current_phase":"x","current_phase":"executing","active":true}"#.to_owned()),
    ]
}

#[test]
fn state_3_2a_foreign_documents_are_read_and_listed_unchanged() {
    for (what, text) in spellings() {
        let project = project();
        hand_written(&project, &text);
        let before = project.kept();
        let read = project.omx(&["state", "read", "--mode", "ralph", "--json"]);
        let document = read.ok();
        assert_eq!(document["owner"], "me", "{what}");
        assert!(document.get("revision").is_none() && document.get("mode").is_none(), "{what}");
        let listed = project.omx(&["state", "list-active", "--json"]).ok();
        assert_eq!(listed["active_modes"], json!(["ralph"]), "{what}");
        let entry = &listed["entries"][0];
        assert_eq!(entry["phase"], "executing", "{what}");
        assert_eq!(entry["iteration"], Value::Null, "{what}");
        let status = project.omx(&["state", "get-status", "--json"]).ok();
        assert_eq!(status["statuses"]["ralph"]["active"], true, "{what}");
        assert_eq!(project.kept(), before, "{what}");
    }
}

#[test]
fn state_3_2a_foreign_documents_are_written_starting_at_revision_0() {
    for (what, text) in spellings() {
        let project = project();
        hand_written(&project, &text);
        let stale = json!({"mode":"ralph","iteration":1,"expected_revision":1});
        assert_eq!(project.state_op("write", &stale).refused(), "revision_conflict", "{what}");
        let answer = project.put(json!({"mode":"ralph","iteration":1,"expected_revision":0}));
        assert_eq!(answer["revision"], 1, "{what}");
        let document = project.document("ralph");
        assert_eq!(document["owner"], "me", "{what}");
        assert_eq!(document["mode"], "ralph", "{what}");
        assert_eq!(document["current_phase"], "executing", "{what}");
        assert!(document.get("session_id").is_none(), "no session outside sessions");
        assert_eq!(stored(&project).matches("\"active\"").count(), 1, "{what}");
        assert!(!project.state("quarantine").exists(), "{what}");
    }
}

#[test]
fn state_3_2a_foreign_documents_are_cancelled_and_preserved() {
    for (what, text) in spellings() {
        let project = project();
        project.write(".omx/state/sessions/s/ralph-state.json", &text);
        let answer = project.omx(&["cancel", "--json"]).ok();
        assert_eq!(answer["cancelled"][0]["mode"], "ralph", "{what}");
        assert_eq!(answer["quarantined"], json!([]), "{what}");
        let document = project.session_document("s", "ralph");
        assert_eq!(document["owner"], "me", "{what}");
        assert_eq!(document["session_id"], "s", "{what}");
        for (name, value) in [
            ("active", json!(false)),
            ("run_outcome", json!("cancelled")),
            ("current_phase", json!("cancelled")),
            ("revision", json!(1)),
        ] {
            assert_eq!(document[name], value, "{what}");
        }
        assert!(fs::read(project.session("s", "ralph-state.json")).unwrap().starts_with(b"{"));
    }
}

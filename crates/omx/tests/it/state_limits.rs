//! state.md 3.5: how large and how deep a document may be, and that nothing
//! breaks on one that another program made larger or deeper.

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::json;

use crate::project;

const MIB: usize = 1 << 20;

fn write(project: &TestProject, text: &str) -> CommandOutcome {
    project.omx_stdin(&["state", "write", "--input", "-", "--json"], text.as_bytes())
}

fn nested(open: &str, close: &str, depth: usize) -> String {
    open.repeat(depth) + "1" + &close.repeat(depth)
}

#[test]
fn state_3_5_a_request_is_limited_to_a_mebibyte() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    let before = project.kept();
    let of_size = |size: usize| {
        let frame = r#"{"mode":"ralph","x":""}"#.len();
        format!(r#"{{"mode":"ralph","x":"{}"}}"#, "x".repeat(size - frame))
    };
    for size in [MIB + 1, 2 * MIB, 9 * MIB] {
        let path = project.write("large.json", of_size(size));
        let by_file = ["state", "write", "--input-file", path.to_str().unwrap(), "--json"];
        for outcome in [write(&project, &of_size(size)), project.omx(&by_file)] {
            assert_eq!(outcome.refused(), "too_large", "{size}");
            assert!(outcome.json()["error"].as_str().unwrap().contains("1048576"), "{outcome:?}");
        }
    }
    // The request fits, the document around it does not.
    assert_eq!(write(&project, &of_size(MIB)).refused(), "too_large");
    assert_eq!(project.kept(), before);
    write(&project, &of_size(MIB - 1_000)).ok();
}

#[test]
fn state_3_5_a_document_grows_to_a_mebibyte_and_no_further() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    write(&project, &json!({"mode":"ralph","a":"x".repeat(MIB / 2)}).to_string()).ok();
    let before = project.kept();
    let more = json!({"mode":"ralph","b":"x".repeat(MIB / 2)}).to_string();
    assert_eq!(write(&project, &more).refused(), "too_large");
    assert_eq!(project.kept(), before);
    project.put(json!({"mode":"ralph","c":1}));
}

#[test]
fn state_3_5_nesting_is_limited_to_32_levels_by_every_parser() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true}));
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        // The document itself is the first level.
        for (name, request) in [
            ("x", format!(r#"{{"mode":"ralph","x":{}}}"#, nested(open, close, 31))),
            ("y", format!(r#"{{"mode":"ralph","state":{{"y":{}}}}}"#, nested(open, close, 31))),
        ] {
            write(&project, &request).ok();
            assert!(
                project.read(project.state("ralph-state.json")).contains(&format!("\"{name}\": "))
            );
        }
        let before = project.kept();
        for depth in [32, 33, 126, 127, 128, 129, 1_000, 100_000] {
            let value = nested(open, close, depth);
            for request in [
                format!(r#"{{"mode":"ralph","x":{value}}}"#),
                format!(r#"{{"mode":"ralph","state":{{"y":{value}}}}}"#),
                format!(r#"{{"mode":"ralph","handoff_artifacts":{{"y":{value}}}}}"#),
            ] {
                let outcome = write(&project, &request);
                assert_eq!(outcome.refused(), "too_large", "{depth}");
                assert!(outcome.json()["error"].as_str().unwrap().contains("32"), "{outcome:?}");
            }
        }
        assert_eq!(project.kept(), before);
    }
    let unclosed = write(&project, &"[".repeat(100_000));
    assert_eq!(unclosed.refused(), "too_large", "counted before it is parsed");
}

#[test]
fn state_3_5_brackets_in_strings_add_no_depth() {
    let project = project();
    let text = "[{\\\"".repeat(10_000);
    write(&project, &format!(r#"{{"mode":"ralph","active":true,"x":"{text}"}}"#)).ok();
}

/// A document by hand; `name` is a field the rules look into, or a foreign one.
fn deep_by_hand(name: &str, depth: usize) -> TestProject {
    let project = project();
    let value = nested("[{\"k\":", "}]", depth / 2);
    let text = format!(r#"{{"active":true,"current_phase":"ralplan","{name}":{value}}}"#);
    project.write(".omx/state/autopilot-state.json", text);
    project
}

#[test]
fn state_3_5_a_deep_foreign_document_is_read_listed_and_cancelled() {
    for name in ["foreign", "handoff_artifacts", "review_verdict", "waiting", "mode"] {
        for depth in [34, 1_000, 100_000] {
            let project = deep_by_hand(name, depth);
            let before = project.kept();
            let document = project.read(project.state("autopilot-state.json"));
            let listed = project.omx_promptly(&["state", "list-active", "--json"]);
            assert_eq!(listed.ok()["active_modes"], json!(["autopilot"]), "{name} {depth}");
            let read = project.omx(&["state", "read", "--mode", "autopilot", "--json"]);
            assert_eq!(read.stdout.trim(), document, "{name} {depth}");
            let more = json!({"mode":"autopilot","task_description":"t"});
            if name != "mode" {
                assert_eq!(
                    project.state_op("write", &more).refused(),
                    "too_large",
                    "{name} {depth}"
                );
                assert_eq!(project.kept(), before, "{name} {depth}");
            }
            let cancelled = project.omx_promptly(&["cancel", "--json"]).ok();
            assert_eq!(cancelled["cancelled"][0]["mode"], "autopilot", "{name} {depth}");
            assert_eq!(
                project.omx_promptly(&["state", "list-active", "--json"]).ok()["entries"],
                json!([])
            );
        }
    }
}

#[test]
fn state_3_5_a_large_foreign_document_is_read_and_cancelled_but_not_written() {
    let project = project();
    let filler = "x".repeat(2 * MIB);
    project.write(".omx/state/ralph-state.json", format!(r#"{{"active":true,"x":"{filler}"}}"#));
    let before = project.kept();
    project.omx(&["state", "read", "--mode", "ralph", "--json"]).ok();
    let more = json!({"mode":"ralph","iteration":1});
    assert_eq!(project.state_op("write", &more).refused(), "too_large");
    assert_eq!(project.kept(), before);
    assert_eq!(project.omx(&["cancel", "--json"]).ok()["cancelled"][0]["mode"], "ralph");
    assert!(
        project.document("ralph")["x"] == filler && project.document("ralph")["active"] == false
    );
}

#[test]
fn state_3_5_a_file_far_too_large_to_be_read_blocks_nothing() {
    let project = project();
    project.put(json!({"mode":"ultrawork","active":true}));
    let path = project.write(".omx/state/ralph-state.json", "");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(9 << 20).unwrap();
    let read = project.omx(&["state", "read", "--mode", "ralph", "--json"]);
    assert_eq!(read.refused(), "too_large");
    let start = json!({"mode":"ralph","active":true});
    assert_eq!(project.state_op("write", &start).refused(), "too_large");
    let listed = project.omx(&["state", "list-active", "--json"]).ok();
    assert_eq!(listed["active_modes"], json!(["ultrawork"]));
    assert_eq!(listed["unreadable"][0]["mode"], "ralph");
    let cancelled = project.omx(&["cancel", "--json"]).ok();
    assert_eq!(cancelled["cancelled"][0]["mode"], "ultrawork");
    assert_eq!(cancelled["quarantined"][0]["mode"], "ralph");
    assert!(!path.exists());
}

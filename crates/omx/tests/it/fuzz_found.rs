//! What fuzzing found (quality.md R16), kept as plain cases.

use serde_json::json;

use crate::project;

#[test]
fn state_2_1_the_largest_revision_does_not_overflow() {
    let project = project();
    let document = r#"{"active":true,"revision":18446744073709551615}"#;
    let path = ".omx/state/ralph-state.json";
    project.write(path, document);
    let answer = project.put(json!({"mode":"ralph","iteration":1}));
    assert_eq!(answer["revision"], u64::MAX);
    project.write(path, document);
    project.omx(&["cancel", "--json"]).ok();
    assert_eq!(project.document("ralph")["active"], false);
}

#[test]
fn modes_2_1_the_largest_iteration_does_not_overflow() {
    let project = project();
    project.write(
        ".omx/state/ralph-state.json",
        r#"{"active":true,"current_phase":"fixing","iteration":18446744073709551615,"max_iterations":18446744073709551615}"#,
    );
    project.put(json!({"mode":"ralph","current_phase":"executing"}));
    assert_eq!(project.document("ralph")["iteration"], u64::MAX);
}

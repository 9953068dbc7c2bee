//! state.md 1: which folder a document lands in.

use std::fs;

use serde_json::json;

use crate::project;

#[test]
fn state_1_3_the_first_write_keeps_git_status_clean() {
    let project = project();
    project.git();
    project.put(json!({"mode":"ralph","active":true}));
    assert_eq!(project.run_git(&["status", "--porcelain"]).stdout, "");
    assert_eq!(project.read(".omx/.gitignore"), "*\n");
    fs::remove_file(project.root().join(".omx/.gitignore")).unwrap();
    project.put(json!({"mode":"ralph","iteration":1}));
    assert_eq!(project.read(".omx/.gitignore"), "*\n");
}

//! trust.md 2.4: what another user put above a project, or can write in it, is not obeyed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use rustix::process::geteuid;
use serde_json::json;

use crate::project;

/// Makes a path another user's: by its owner where this test may, else by its mode.
fn give_away(path: &Path) {
    if geteuid().is_root() {
        chown(path, Some(12345), Some(12345)).unwrap();
    } else {
        fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
    }
}

#[test]
fn trust_2_4_a_folder_of_another_user_above_is_skipped_and_named() {
    let project = project();
    let planted = project.folder().join(".omx");
    fs::create_dir(&planted).unwrap();
    fs::write(planted.join("config.toml"), "allow = \"edits\"\n").unwrap();
    give_away(&planted);
    let listed = project.omx(&["config", "list", "--json"]).ok();
    assert_eq!(listed["allow"], "commands", "the planted folder is obeyed");
    project.put(json!({"mode":"ralph","active":true,"session_id":"s"}));
    assert!(project.root().join(".omx/state").exists());
    assert!(!planted.join("state").exists());
    let outcome = project.omx(&["ask", "rehearsal", "x", "--scenario", "none.toml"]);
    let expected = format!("{} is ignored", planted.display());
    assert!(outcome.stderr.contains(&expected), "{outcome:?}");
}

#[test]
fn trust_2_4_the_projects_own_folder_must_be_the_persons() {
    let project = project();
    project.put(json!({"mode":"ralph","active":true,"session_id":"s"}));
    fs::set_permissions(project.root().join(".omx"), PermissionsExt::from_mode(0o777)).unwrap();
    let outcome = project.state_op("write", &json!({"mode":"ralph","session_id":"s","x":1}));
    assert_eq!(outcome.refused(), "unsafe_path");
    // Naming the project is the person's own word for it.
    let root = project.root();
    let named = ["--root", root.to_str().unwrap(), "state", "list-active", "--json"];
    assert_eq!(project.omx(&named).code, Some(0));
}

#[test]
fn trust_2_4_a_configuration_that_others_can_write_is_skipped_and_named() {
    let project = project();
    let file = project.write(".omx-config.json", r#"{"allow":"edits"}"#);
    assert_eq!(project.omx(&["config", "get", "allow"]).stdout, "edits\n");
    give_away(&file);
    assert_eq!(project.omx(&["config", "get", "allow"]).stdout, "commands\n");
    let listed = project.omx(&["config", "list", "--show-origin"]).stdout;
    assert!(listed.contains(&format!("{} is ignored", file.display())), "{listed}");
    // Another group is somebody else, too.
    if geteuid().is_root() {
        chown(&file, Some(0), Some(12345)).unwrap();
        for (mode, allow) in [(0o644, "edits\n"), (0o664, "commands\n")] {
            fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(project.omx(&["config", "get", "allow"]).stdout, allow, "{mode:o}");
        }
    }
}

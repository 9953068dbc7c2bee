//! What a newcomer types first: the demo, the catalogue, a first mistake.

use std::fs;

use serde_json::json;

use crate::project;

#[test]
fn the_demo_checks_itself_and_leaves_nothing_behind() {
    let project = project();
    let temporary = project.folder().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let outcome = project.omx_env(&["demo"], &[("TMPDIR", temporary.to_str().unwrap())]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for sentence in [
        "is held by ralph",
        "illegal_transition",
        "recently_cancelled",
        "All of this was read back",
    ] {
        assert!(outcome.stdout.contains(sentence), "{sentence}: {}", outcome.stdout);
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(!project.root().join(".omx").exists());
}

#[test]
fn hosts_5_3_roles_are_listed_and_shown_and_a_project_has_its_own() {
    let project = project();
    let listed = project.omx(&["list", "roles", "--json"]).ok();
    let roles = listed["roles"].as_array().unwrap();
    assert_eq!(roles.len(), 30);
    assert_eq!(project.omx(&["list", "roles"]).stdout.lines().count(), 30);
    let critic = project.omx(&["list", "show", "critic"]).stdout;
    project.write(".omx/roles/critic.md", critic.replace("tier: high", "tier: low"));
    let own = project.omx(&["list", "show", "critic", "--json"]).ok();
    assert_eq!(own["tier"], "low");
    assert_eq!(own["file"], project.root().join(".omx/roles/critic.md").to_str().unwrap());
    assert_eq!(project.omx(&["list", "show", "nobody", "--json"]).refused(), "invalid_input");
    project.write(".omx/roles/critic.md", "no front matter");
    let broken = project.omx(&["list", "roles"]);
    assert_eq!(broken.code, Some(1));
    assert!(broken.stderr.contains("critic.md:1:"), "{broken:?}");
    let modes = project.omx(&["list", "modes", "--json"]).ok();
    assert_eq!(modes["modes"].as_array().unwrap().len(), 11);
}

#[test]
fn a_first_write_that_is_refused_leaves_no_trace() {
    let project = project();
    for input in [
        json!({"mode":"ralph","current_phase":"executing"}),
        json!({"mode":"ralph","active":true,"current_phase":"complete"}),
        json!({"mode":"autopilot","active":true,"current_phase":"ralph"}),
        json!({"mode":"ralph","resume":true,"session_id":"s"}),
    ] {
        project.state_op("write", &input).refused();
        assert!(!project.root().join(".omx").exists(), "{input}");
    }
}

#[test]
fn cancel_5_2_force_keeps_an_unreadable_document_it_cannot_move_aside() {
    let project = project();
    let broken = project.write(".omx/state/ralph-state.json", "{broken");
    project.write(".omx/state/quarantine", "a file where the folder belongs");
    let answer = project.omx(&["cancel", "--force", "--json"]).ok();
    assert_eq!(fs::read_to_string(&broken).unwrap(), "{broken");
    assert_eq!(answer["kept"], json!([broken.to_str().unwrap()]));
}

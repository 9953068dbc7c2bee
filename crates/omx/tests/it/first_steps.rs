//! What a newcomer types first: the catalogue, a first mistake.

use std::fs;

use serde_json::json;

use crate::project;

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
fn hosts_5_3_skills_are_listed_and_shown_and_a_project_has_its_own() {
    let project = project();
    let listed = project.omx(&["list", "skills", "--json"]).ok();
    let names: Vec<&str> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert!(names.is_sorted() && names.contains(&"ralph") && names.contains(&"cancel"));
    assert_eq!(project.omx(&["list", "skills"]).stdout.lines().count(), names.len());
    let report = project.omx(&["list", "show", "ralph"]).stdout;
    assert_eq!(report, include_str!("../../../../assets/skills/ralph/SKILL.md"));
    // The project's own, made from the built-in one.
    project.write(".omx/skills/ralph/SKILL.md", report.replace("# Ralph", "# Our ralph"));
    let own = project.omx(&["list", "show", "ralph", "--json"]).ok();
    assert!(own["prompt"].as_str().unwrap().starts_with("# Our ralph"));
    assert_eq!(own["file"], project.root().join(".omx/skills/ralph/SKILL.md").to_str().unwrap());
    assert!(project.omx(&["list", "skills"]).stdout.contains("(own)"));
    // A name of both a role and a skill must be qualified.
    let both = "---\nname: critic\ndescription: ours\n---\nx\n";
    project.write(".omx/skills/critic/SKILL.md", both);
    let outcome = project.omx(&["list", "show", "critic"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("role:critic or skill:critic"), "{outcome:?}");
    assert_eq!(project.omx(&["list", "show", "skill:critic"]).stdout, both);
    assert!(project.omx(&["list", "show", "role:critic"]).stdout.contains("tier: high"));
    // A broken one is named, with its line, and does not hide the roles.
    project.write(".omx/skills/ship/SKILL.md", "---\nname: Ship\ndescription: x\n---\nx\n");
    let outcome = project.omx(&["list", "skills"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("ship/SKILL.md:2: "), "{outcome:?}");
    assert_eq!(project.omx(&["list", "show", "role:critic"]).code, Some(0));
}

#[test]
fn a_rejected_first_write_leaves_no_trace() {
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
fn cancel_5_2_force_keeps_an_unreadable_document_it_cannot_quarantine() {
    let project = project();
    let broken = project.write(".omx/state/ralph-state.json", "{broken");
    project.write(".omx/state/quarantine", "a file where the folder belongs");
    let answer = project.omx(&["cancel", "--force", "--json"]).ok();
    assert_eq!(fs::read_to_string(&broken).unwrap(), "{broken");
    assert_eq!(answer["kept"], json!([broken.to_str().unwrap()]));
}

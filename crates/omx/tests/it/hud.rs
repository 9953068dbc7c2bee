//! views.md 1: the status line.

use serde_json::json;

use crate::project;

fn line(stdout: &str) -> &str {
    stdout.strip_suffix('\n').expect("one line")
}

#[test]
fn views_1_one_line_with_branch_mode_phase_and_iteration() {
    let project = project();
    assert_eq!(line(&project.omx(&["hud"]).stdout), "omx | idle");
    assert!(!project.root().join(".omx").exists(), "looking leaves no trace");
    project.git();
    project.put(json!({"mode":"ralph","active":true,"session_id":"s1","iteration":3}));
    project.put(json!({"mode":"ultraqa","active":true}));
    let hud = |args: &[&str]| project.omx(&[&["hud"], args].concat()).stdout;
    assert_eq!(line(&hud(&[])), "omx | main | ultraqa qa 1/5 | ralph starting 3/50");
    assert_eq!(line(&hud(&["--preset", "minimal"])), "omx | ultraqa qa | ralph starting");
    assert_eq!(
        line(&hud(&["--preset", "full"])),
        "omx | main | ultraqa qa 1/5 | ralph starting 3/50 (s1)"
    );
    assert_eq!(line(&hud(&["--session-id", "s1"])), "omx | main | ralph starting 3/50");
    let own = project.omx_env(&["hud"], &[("OMX_SESSION_ID", "s1")]);
    assert_eq!(line(&own.stdout), "omx | main | ralph starting 3/50");
    let answer = project.omx(&["hud", "--json"]).ok();
    assert_eq!(answer["branch"], "main");
    assert_eq!(answer["modes"][1]["phase"], "starting");
}

#[test]
fn views_1_the_preset_is_configurable_and_foreign_text_is_escaped() {
    let project = project();
    project.write(
        ".omx/state/ralph-state.json",
        "{\"active\":true,\"current_phase\":\"a\\u001b[31mb\",\"updated_at\":\"2020-01-01T00:00:00Z\"}",
    );
    project.write(".omx/state/team-state.json", "{broken");
    project.write(".omx/config.toml", "[hud]\npreset = \"minimal\"\n");
    assert_eq!(
        line(&project.omx(&["hud"]).stdout),
        "omx | ralph a\\u{1b}[31mb stale | 1 unreadable"
    );
    project.write(".omx/config.toml", "[hud]\npreset = 7\n");
    assert_eq!(
        project.omx(&["hud"]).code,
        Some(0),
        "a broken configuration is no reason for no line"
    );
}

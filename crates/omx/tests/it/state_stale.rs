//! state.md 2.5: when an active document counts as stale, and what that means.

use std::fs;

use serde_json::json;

use crate::project;

#[test]
fn state_2_5_an_active_document_is_stale_after_two_idle_hours() {
    let hours = |h: f64| {
        let ago = jiff::SignedDuration::from_secs_f64(h * 3_600.0);
        (jiff::Timestamp::now() - ago).to_string()
    };
    for (updated, seen, active, stale) in [
        (1.9, None, true, false),
        (2.1, None, true, true),
        (2.1, Some(0.1), true, false),
        (2.1, Some(3.0), true, true),
        (0.1, Some(3.0), true, false),
        (2.1, None, false, false),
    ] {
        let project = project();
        let document = json!({"mode":"ralph","active":active,"updated_at":hours(updated)});
        project.write(".omx/state/sessions/s/ralph-state.json", document.to_string());
        if let Some(seen) = seen {
            let record = json!({"last_seen":hours(seen)}).to_string();
            project.write(".omx/state/.activity/s.json", record);
        }
        let case = format!("{updated} {seen:?} {active}");
        let status = project.omx(&["state", "get-status", "--json"]).ok();
        assert_eq!(status["sessions"]["s"]["ralph"]["stale"], stale, "{case}");
        if active {
            let listed = project.omx(&["state", "list-active", "--session-id", "s", "--json"]).ok();
            assert_eq!(listed["entries"][0]["stale"], stale, "{case}");
            let report = project.omx(&["status", "--json"]).ok();
            assert_eq!(report["stops"][0]["held"], !stale, "a stale one holds no stop: {case}");
            assert_eq!(project.omx(&["status"]).stdout.contains("stale"), stale, "{case}");
            let cancelled = project.omx(&["cancel", "--json"]).ok();
            assert_eq!(cancelled["cancelled"][0]["mode"], "ralph", "{case}");
        }
    }
}

#[test]
fn state_2_5_a_document_without_a_usable_time_is_as_old_as_its_file() {
    for updated in [json!(null), json!("yesterday"), json!(7)] {
        let project = project();
        let document = json!({"active":true,"updated_at":updated}).to_string();
        let path = project.write(".omx/state/ralph-state.json", document);
        let stale = || {
            let listed = project.omx(&["state", "list-active", "--json"]).ok();
            listed["entries"][0]["stale"].clone()
        };
        assert_eq!(stale(), false);
        let file = fs::File::options().write(true).open(path).unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3_600);
        file.set_modified(old).unwrap();
        assert_eq!(stale(), true);
    }
}

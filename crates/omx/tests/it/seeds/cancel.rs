//! Seed 000, on cancel: what cancel_*.rs does not show.

use serde_json::json;

use crate::cancel_kit::{plant, stored};
use crate::hooks::kit::{BOTH, HostConversation, context, held, used_project};
use crate::project;

#[test]
fn seed_000_slash_cancel_ends_every_mode_of_the_conversation() {
    for host in BOTH {
        for call in ["/cancel", "$cancel", "/omx:cancel", "please cancelomc", "ok, stopomc"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            let other = HostConversation { session: "s2", ..conversation };
            conversation.prompt("$ralph $ultrawork repair the parser");
            other.prompt("$ultraqa the tests pass");
            held(&conversation.stop("not yet"));
            let untouched = project.bytes(".omx/state/sessions/s2");
            let answer = conversation.prompt(call);
            let text = context(&answer);
            assert!(text.contains("Cleaned up: ultrawork (linked to ralph)"), "{call}: {text}");
            assert!(text.contains("Ralph cancelled."), "{call}: {text}");
            for mode in ["ralph", "ultrawork"] {
                let document = conversation.document(mode);
                assert_eq!(document["active"], false, "{call}: {mode}");
                assert_eq!(document["current_phase"], "cancelled", "{call}: {mode}");
                assert!(document["completed_at"].is_string(), "{call}: {mode}");
            }
            assert_eq!(conversation.stop("done"), json!({}), "{call}");
            assert_eq!(project.bytes(".omx/state/sessions/s2"), untouched, "{call}");
        }
    }
}

#[test]
fn seed_000_an_autopilot_without_a_phase_is_cancelled_at_unknown() {
    let project = project();
    project.write(".omx/state/autopilot-state.json", r#"{"active":true}"#);
    let outcome = project.omx(&["cancel"]);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(
        outcome.stdout,
        "Autopilot cancelled at phase: unknown. Progress preserved for resume.\n\
         Run /autopilot to resume.\n"
    );
}

#[test]
fn seed_000_files_of_the_legacy_list_go_only_by_force() {
    let project = project();
    plant(&project, None, "ralph", &json!({}));
    let legacy = [
        "ralph-plan-state.json",
        "ralph-verification.json",
        "swarm.db",
        "swarm.db-wal",
        "swarm-tasks.db",
        "ultrapilot-ownership.json",
        "boulder.json",
        "hud-state.json",
        "subagent-tracking.json",
        "rate-limit-daemon.pid",
        "checkpoints/one.json",
    ];
    for name in legacy {
        project.write(&format!(".omx/state/{name}"), "kept");
    }
    assert_eq!(project.omx(&["cancel"]).code, Some(0));
    assert_eq!(stored(&project, None, "ralph")["active"], false);
    for name in legacy {
        assert_eq!(project.read(project.state(name)), "kept", "{name}");
    }
    assert_eq!(project.omx(&["cancel", "--force"]).code, Some(0));
    for name in legacy {
        assert!(!project.state(name).exists(), "{name}");
    }
}

#[test]
fn seed_000_cancelling_autopilot_or_ralph_spares_an_unlinked_ultrawork() {
    for parent in ["autopilot", "ralph"] {
        let project = project();
        plant(&project, Some("s"), parent, &json!({}));
        plant(&project, Some("s"), "ultrawork", &json!({}));
        let before = project.read(project.session("s", "ultrawork-state.json"));
        project.omx(&["cancel", "--session-id", "s", "--mode", parent, "--json"]).ok();
        assert_eq!(stored(&project, Some("s"), parent)["active"], false);
        assert_eq!(project.read(project.session("s", "ultrawork-state.json")), before);
    }
}

#[test]
fn seed_000_cancel_names_every_mode_it_looked_for_and_succeeds() {
    let project = project();
    let outcome = project.omx(&["cancel"]);
    assert_eq!(outcome.code, Some(0));
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(lines[..3], ["No active OMX modes detected.", "", "Checked for:"]);
    for line in [
        " - Autopilot (.omx/state/autopilot-state.json)",
        " - Ralph (.omx/state/ralph-state.json)",
        " - Ultrawork (.omx/state/ultrawork-state.json)",
        " - UltraQA (.omx/state/ultraqa-state.json)",
    ] {
        assert!(lines.contains(&line), "{line}: {lines:?}");
    }
    assert_eq!(lines.last(), Some(&"Use --force to clear all state files anyway."));
}

#[test]
fn seed_000_force_and_all_in_a_prompt_clear_every_session() {
    for host in BOTH {
        for call in ["/cancel --force", "/cancel --all", "cancelomc --force", "cancelomx --all"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            let other = HostConversation { session: "s2", ..conversation };
            other.prompt("$ultraqa the tests pass");
            plant(&project, None, "ultrawork", &json!({}));
            let answer = conversation.prompt(call);
            let text = context(&answer);
            assert!(text.contains("All OMX modes cleared."), "{call}: {text}");
            assert_eq!(other.stop("done"), json!({}), "{call}");
            let listed = project.omx(&["state", "get-status", "--json"]).ok();
            assert_eq!(listed, json!({"statuses": {}, "sessions": {}}), "{call}");
        }
    }
}

#[test]
fn seed_000_either_flag_counts_anywhere_and_both_together() {
    for flags in [&["--force", "--all"][..], &["--all", "--json", "--force"], &["--json", "--all"]]
    {
        let project = project();
        plant(&project, Some("s1"), "ralph", &json!({}));
        plant(&project, None, "ultrawork", &json!({}));
        let outcome = project.omx(&[&["cancel"], flags].concat());
        assert_eq!(outcome.code, Some(0), "{flags:?}: {outcome:?}");
        assert!(!project.session("s1", "ralph-state.json").exists(), "{flags:?}");
        assert!(!project.state("ultrawork-state.json").exists(), "{flags:?}");
    }
}

//! modes.md 5.3, cancel.md 1.4, surface.md 2.2: a run that waits for the person is a run.
//! `status` shows it, a cancel ends it, and nothing but a resume brings it back.

use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, used_project};

fn block(conversation: &HostConversation<'_>, mode: &str) {
    conversation.prompt(&format!("${mode} mend the parser"));
    conversation.write(
        json!({"mode": mode, "run_outcome": "blocked_on_user", "error": "the token is missing"}),
    );
    assert_eq!(conversation.document(mode)["active"], false);
}

#[test]
fn cancel_1_4_a_run_that_waits_for_the_person_is_cancelled_and_stays_so() {
    for host in BOTH {
        for (mode, words) in [
            ("autopilot", "cancelomx"),
            ("ralph", "stop"),
            ("ralplan", "cancel"),
            ("ultraqa", "/cancel"),
        ] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            block(&conversation, mode);
            let answer = conversation.prompt(words);
            assert!(answer.to_string().contains("cancelled"), "{mode}: {answer}");
            let document = conversation.document(mode);
            assert_eq!(document["run_outcome"], "cancelled", "{mode}");
            if mode == "autopilot" {
                assert_eq!(document["current_phase"], "ralplan");
            }
            conversation.prompt("continue");
            assert_eq!(conversation.document(mode), document, "{mode} came back");
        }
    }
}

#[test]
fn cancel_1_4_every_door_of_cancel_reaches_a_run_that_waits() {
    for arguments in [
        &["cancel", "--json"][..],
        &["cancel", "--json", "--session-id", "s1"],
        &["cancel", "--json", "--mode", "autopilot", "--session-id", "s1"],
        &["cancel", "--json", "--every-session"],
    ] {
        let project = used_project();
        let conversation =
            HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
        block(&conversation, "autopilot");
        let outcome = project.omx(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(answer["cancelled"][0]["mode"], "autopilot", "{arguments:?}: {answer}");
        assert_eq!(conversation.document("autopilot")["run_outcome"], "cancelled");
    }
}

#[test]
fn surface_2_2_status_and_status_line_show_a_mode_that_waits() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    block(&conversation, "ralph");
    let text = project.omx(&["status"]).stdout;
    for part in ["Needs you: ralph", "session s1", "the token is missing", "continue", "cancel"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let status: Value = serde_json::from_str(&project.omx(&["status", "--json"]).stdout).unwrap();
    assert_eq!(status["waiting"][0]["mode"], "ralph");
    assert_eq!(status["waiting"][0]["needs"], "the token is missing");
    assert_eq!(status["active_modes"], json!([]));
    assert!(project.omx(&["hud"]).stdout.contains("ralph needs you"));
    project.omx(&["cancel"]);
    assert!(!project.omx(&["status"]).stdout.contains("Needs you"));
    assert!(project.omx(&["hud"]).stdout.contains("idle"));
}

//! modes.md 3.2: inside a running autopilot its stages start linked, and other drivers are
//! refused with the way out.

use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, context, held, used_project};

#[test]
fn modes_3_2_a_stage_started_by_its_own_skill_is_linked_without_asking() {
    for host in BOTH {
        for stage in ["ralplan", "ralph", "code-review", "ultraqa"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            conversation.prompt("$autopilot mend the parser");
            // As the skill of the stage shows it.
            conversation.write(json!({"mode": stage, "active": true, "start": true,
                "task_description": "mend the parser"}));
            assert_eq!(conversation.document(stage)["linked_to"], "autopilot", "{stage}");
            held(&conversation.stop("next"));
            let answer = conversation.prompt("cancelomx").to_string();
            assert!(answer.contains(&format!("{stage} (linked to autopilot)")), "{answer}");
            assert_eq!(conversation.document(stage)["active"], false);
        }
    }
}

#[test]
fn modes_3_2_another_driver_is_refused_with_its_name_the_cancel_and_the_linked_way() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$autopilot mend the parser");
        let before = conversation.document("autopilot");
        for mode in ["team", "swarm", "ultrapilot", "pipeline"] {
            let input = json!({"mode": mode, "session_id": "s1", "active": true}).to_string();
            let outcome = project.omx(&["state", "write", "--json", "--input", &input]);
            let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
            assert_eq!(answer["code"], "mode_conflict", "{answer}");
            let error = answer["error"].as_str().unwrap();
            assert!(error.contains("autopilot is running"), "{error}");
            assert!(error.contains("omx cancel --mode autopilot"), "{error}");
            assert!(!error.contains("linked_to"), "{mode} is no stage: {error}");
        }
        // The person asks for something else: that is for them to decide.
        let answer = conversation.prompt("$ralph write the manual");
        let text = context(&answer);
        assert!(text.contains("was not started"), "{text}");
        assert!(text.contains(r#""linked_to": "autopilot""#), "{text}");
        assert_eq!(conversation.document("autopilot"), before);
    }
}

#[test]
fn modes_3_2_other_sessions_never_matter() {
    let project = used_project();
    let one = HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    let two = HostConversation { session: "s2", ..one };
    one.prompt("$autopilot mend the parser");
    two.write(json!({"mode": "ralph", "active": true}));
    assert_eq!(two.document("ralph").get("linked_to"), None);
}

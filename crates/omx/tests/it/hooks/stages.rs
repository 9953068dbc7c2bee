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

#[test]
fn modes_3_2_a_stage_that_autopilot_has_left_holds_nothing() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$autopilot mend the parser");
        conversation.write(json!({"mode": "ralplan", "active": true}));
        project.write(".omx/plans/prd-x.md", "the plan");
        project.write(".omx/plans/test-spec-x.md", "the tests");
        conversation.write(json!({"mode": "autopilot", "current_phase": "ralph", "handoff_artifacts":
            {"ralplan": {"plan_path": ".omx/plans/prd-x.md", "test_spec_path": ".omx/plans/test-spec-x.md"}}}));
        let left = conversation.document("ralplan");
        assert_eq!((&left["active"], &left["run_outcome"]), (&json!(false), &json!("cancelled")));
        assert_eq!(left["completion_note"], "autopilot entered ralph");

        conversation.write(json!({"mode": "ralph", "active": true, "linked_ultrawork": true}));
        conversation.write(json!({"mode": "ultrawork", "active": true}));
        // The stage of the next phase may start before that phase is entered.
        conversation.write(json!({"mode": "code-review", "active": true}));
        conversation.write(json!({"mode": "autopilot", "current_phase": "code-review", "handoff_artifacts":
            {"ralph": {"changed_files": ["src/parse.rs"], "evidence": [{"command": "make test", "exit_code": 0}]}}}));
        assert_eq!(conversation.document("ralph")["active"], false);
        assert_eq!(conversation.document("ultrawork")["active"], false);
        assert_eq!(conversation.document("code-review")["active"], true);
        let answer = conversation.stop("next");
        assert!(held(&answer).contains("Autopilot"), "{answer}");
    }
}

//! modes.md 4.3 and 4.5: a held stop is not a round, a run that moves is never ended by
//! counting its stops, and only the person raises a limit.

use omx_testkit::{CommandOutcome, TestProject};
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, held, used_project};

/// Works and stops this many times; each stop is held.
fn work(conversation: &HostConversation<'_>, stops: usize) {
    for turn in 0..stops {
        conversation.tool("Bash");
        held(&conversation.stop(&format!("step {turn} is done")));
    }
}

fn write(project: &TestProject, input: &Value) -> CommandOutcome {
    project.omx(&["state", "write", "--json", "--input", &input.to_string()])
}

#[test]
fn modes_4_3_a_run_that_moves_is_never_ended_by_counting_its_stops() {
    for host in BOTH {
        for mode in ["autopilot", "ralplan", "ultraqa", "code-review", "pipeline"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            conversation.prompt(&format!("${mode} mend the parser"));
            let before = conversation.document(mode);
            work(&conversation, 25);
            // 4.6: an agent's next write does not conflict with what it has read.
            assert_eq!(conversation.document(mode), before, "{mode}");
        }
    }
}

#[test]
fn modes_4_5_the_review_of_an_autopilot_with_many_stops_counts_as_its_own() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$autopilot mend the parser");
    project.write("plan.md", "# Plan\n");
    project.write("tests.md", "# Tests\n");
    work(&conversation, 8);
    let handoff = json!({"plan_path": "plan.md", "test_spec_path": "tests.md"});
    conversation.write(json!({"mode": "autopilot", "current_phase": "ralph",
        "handoff_artifacts": {"ralplan": handoff}}));
    work(&conversation, 9);
    let handoff = json!({"changed_files": ["a.rs"],
        "evidence": [{"command": "cargo test", "exit_code": 0}]});
    conversation.write(json!({"mode": "autopilot", "current_phase": "code-review",
        "handoff_artifacts": {"ralph": handoff}}));
    work(&conversation, 8);
    conversation.write(json!({
        "mode": "autopilot", "current_phase": "ralplan", "iteration": 2, "review_cycle": 1,
        "review_verdict": {"recommendation": "REQUEST CHANGES", "architectural_status": "CLEAR",
            "clean": false},
        "return_to_ralplan_reason": "the error is lost",
        "handoff_artifacts": {"code_review": {"findings": ["the error is lost"]}},
    }));
    let document = conversation.document("autopilot");
    assert_eq!((&document["iteration"], &document["review_cycle"]), (&json!(2), &json!(1)));
    assert_eq!(document["active"], true);
}

#[test]
fn modes_4_3_max_holds_is_a_bound_of_its_own() {
    for host in BOTH {
        let project = used_project();
        project.omx(&["config", "set", "limits.max_holds", "12", "--project"]);
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$autopilot mend the parser");
        work(&conversation, 12);
        conversation.tool("Bash");
        let answer = conversation.stop("one more");
        assert!(answer["systemMessage"].as_str().unwrap().contains("limits.max_holds"), "{answer}");
        let document = conversation.document("autopilot");
        assert_eq!(document["run_outcome"], "blocked_on_user");
        assert_eq!(document["current_phase"], "ralplan");
        conversation.prompt("continue");
        work(&conversation, 12);
    }
}

#[test]
fn modes_4_5_the_person_raises_the_limit_of_a_mode_in_a_conversation() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    let limit = |arguments: &[&str]| project.omx(&[&["limit"], arguments].concat());
    for (arguments, expected) in
        [(&["60"][..], 60), (&["s1", "70"], 70), (&["s", "--mode", "ralph", "80"], 80)]
    {
        let outcome = limit(arguments);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains("ralph") && outcome.stdout.contains("s1"), "{outcome:?}");
        assert_eq!(conversation.document("ralph")["max_iterations"], expected);
    }
    let outcome = limit(&["--json", "90"]);
    let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(answer["max_iterations"], 90, "{answer}");
    for (arguments, part) in [
        (&["nobody", "60"][..], "nobody"),
        (&["s1", "--mode", "autopilot", "60"], "autopilot"),
        (&["s1", "none"], "whole number"),
        (&["0"], "whole number"),
    ] {
        let outcome = limit(arguments);
        assert_eq!(outcome.code, Some(1), "{arguments:?} {outcome:?}");
        assert!(outcome.stderr.contains(part), "{outcome:?}");
    }
    // What a write asks for is still refused.
    let more = json!({"mode": "ralph", "session_id": "s1", "max_iterations": 91});
    assert_eq!(write(&project, &more).code, Some(1));
    let fewer = json!({"mode": "ralph", "session_id": "s1", "max_iterations": 3});
    assert_eq!(write(&project, &fewer).code, Some(0));
}

#[test]
fn modes_4_5_a_run_that_reached_its_limit_resumes_with_a_higher_one() {
    let project = used_project();
    let conversation = HostConversation { project: &project, host: HookHost::Codex, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    conversation.write(json!({"mode": "ralph", "max_iterations": 2}));
    work(&conversation, 2);
    conversation.tool("Bash");
    conversation.stop("still at it");
    assert_eq!(conversation.document("ralph")["run_outcome"], "failed");
    let outcome = project.omx(&["limit", "s1", "5"]);
    assert!(outcome.stdout.contains("resumed"), "{outcome:?}");
    conversation.write(json!({"mode": "ralph", "resume": true}));
    work(&conversation, 3);
}

#[test]
fn modes_4_5_an_ambiguous_limit_names_the_sessions() {
    let project = used_project();
    for session in ["s1", "s2"] {
        let conversation = HostConversation { project: &project, host: HookHost::Codex, session };
        conversation.prompt("$ralph mend the parser");
    }
    let outcome = project.omx(&["limit", "60"]);
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("s1") && outcome.stderr.contains("s2"), "{outcome:?}");
    let nothing = used_project().omx(&["limit", "60"]);
    assert!(nothing.stderr.contains("nothing is active"), "{nothing:?}");
}

#[test]
fn trust_3_4_an_agent_in_a_conversation_cannot_change_its_limit() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    // The test is the host now, so what it starts belongs to the conversation.
    conversation.event("SessionStart", json!({"source": "startup"}));
    conversation.prompt("$ralph mend the parser");
    for variables in [&[][..], &[("OMX_SESSION_ID", "")], &[("OMX_SESSION_ID", "other")]] {
        let outcome = project.omx_env(&["limit", "s1", "60", "--json"], variables);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stdout.contains("person_only"), "{outcome:?}");
    }
    assert_eq!(conversation.document("ralph")["max_iterations"], 50);
}

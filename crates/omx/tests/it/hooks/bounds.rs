//! modes.md 4.3: a host that keeps trying to stop is released in the end, and an
//! exhausted limit is never called success.

use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, held, used_project};

/// Tries to stop until allowed; returns the number of holds and the last answer.
fn until_allowed(
    conversation: &HostConversation<'_>,
    mut between: impl FnMut(usize) -> String,
) -> (usize, Value) {
    for holds in 0..200 {
        let words = between(holds);
        let answer = conversation.stop(&words);
        if answer.get("decision").is_none() {
            return (holds, answer);
        }
        held(&answer);
    }
    panic!("still held after 200 stops");
}

#[test]
fn modes_4_3_seven_holds_in_a_row_without_a_tool_then_the_person_is_asked() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        // Different text every time: only the missing tool calls are the same.
        let (holds, answer) = until_allowed(&conversation, |turn| format!("thinking, part {turn}"));
        assert_eq!(holds, 7);
        let notice = answer["systemMessage"].as_str().unwrap();
        assert!(notice.contains("not finished") && notice.contains('7'), "{notice}");
        let document = conversation.document("ralph");
        assert_eq!(document["run_outcome"], "blocked_on_user");
        assert_eq!((&document["active"], &document["iteration"]), (&json!(false), &json!(7)));
        assert_eq!(conversation.stop("and again"), json!({}));
        // The person resumes it, and it is bounded as before.
        let answer = conversation.prompt("continue");
        assert!(answer.to_string().contains("resumed"), "{answer}");
        assert_eq!(until_allowed(&conversation, |turn| format!("more, part {turn}")).0, 7);
    }
}

#[test]
fn modes_4_3_max_iterations_then_failed_never_complete() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        let (holds, answer) = until_allowed(&conversation, |turn| {
            conversation.tool("Bash");
            format!("working, part {turn}")
        });
        assert_eq!(holds, 50);
        let notice = answer["systemMessage"].as_str().unwrap().to_owned();
        assert!(notice.contains("limit of iterations is reached (50)"), "{notice}");
        let document = conversation.document("ralph");
        assert_eq!(
            (&document["run_outcome"], &document["error"]),
            (&json!("failed"), &json!("max_iterations reached"))
        );
        assert_eq!(document["current_phase"], "failed");
        // The notice says how it goes on, and it does.
        let command = notice.split_once("run omx ").unwrap().1.split_once(" in a").unwrap().0;
        let outcome = project.omx(&command.split(' ').collect::<Vec<_>>());
        assert_eq!(outcome.code, Some(0), "{notice}: {outcome:?}");
        assert!(notice.ends_with("then type $ralph."), "{notice}");
        conversation.prompt("$ralph");
        assert!(held(&conversation.stop("again")).contains("iteration 51/100"));
    }
}

#[test]
fn modes_4_3_five_equal_snapshots_in_a_row_are_no_progress() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph mend the parser");
        let (holds, _) = until_allowed(&conversation, |_| {
            conversation.tool("Bash");
            "all tests pass now".to_owned()
        });
        // The first stop has no tool before a hold to compare; five equal ones follow.
        assert!((4..=5).contains(&holds), "{holds}");
        let document = conversation.document("ralph");
        assert_eq!(document["run_outcome"], "blocked_on_user");
        assert!(document["error"].as_str().unwrap().contains("no progress"), "{document}");
    }
}

#[test]
fn r15_a_run_that_commits_counts_as_progress() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    for turn in 0..12 {
        conversation.tool("Bash");
        project.run_git(&["commit", "--quiet", "--allow-empty", "-m", &format!("step {turn}")]);
        held(&conversation.stop("next"));
    }
    for turn in 0..8 {
        conversation.tool("Bash");
        project.write(&format!("file{turn}"), "x");
        project.run_git(&["add", "-A"]);
        held(&conversation.stop("next"));
    }
}

#[test]
fn modes_4_5_neither_hook_nor_write_raises_a_limit() {
    let project = used_project();
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    conversation.write(json!({"mode": "ralph", "max_iterations": 3}));
    let more = json!({"mode": "ralph", "session_id": "s1", "max_iterations": 60}).to_string();
    assert_eq!(project.omx(&["state", "write", "--input", &more]).code, Some(1));
    let (holds, _) = until_allowed(&conversation, |turn| {
        conversation.tool("Bash");
        format!("part {turn}")
    });
    assert_eq!(holds, 3);
    assert_eq!(conversation.document("ralph")["error"], "max_iterations reached");
}

#[test]
fn modes_4_3_a_time_budget_ends_the_run() {
    let project = used_project();
    project.omx(&["config", "set", "budget.time", "1h", "--project"]);
    let conversation =
        HostConversation { project: &project, host: HookHost::Claude, session: "s1" };
    conversation.prompt("$ralph mend the parser");
    held(&conversation.stop("in time"));
    let path = project.session("s1", "ralph-state.json");
    let mut document = conversation.document("ralph");
    document["started_at"] = json!("2026-01-01T00:00:00.000Z");
    std::fs::write(path, document.to_string()).unwrap();
    let answer = conversation.stop("late");
    assert!(answer["systemMessage"].as_str().unwrap().contains("budget.time"), "{answer}");
    assert_eq!(conversation.document("ralph")["run_outcome"], "blocked_on_user");
}

#[test]
fn modes_4_3_no_write_extends_a_time_budget() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let write = |input: Value| {
            let mut input = input;
            input["mode"] = json!("ralph");
            input["session_id"] = json!("s1");
            let by_command = project.state_op("write", &input);
            let (failed, answer) = project.mcp().call("state_write", &input);
            assert_eq!(failed, by_command.code != Some(0), "{answer}");
            by_command
        };
        let future = "2099-01-01T00:00:00Z";
        let start = json!({"active": true, "start": true, "started_at": future});
        assert_eq!(write(start).refused(), "invalid_input");
        conversation.prompt("$ralph mend the parser");
        let before = conversation.document("ralph")["started_at"].clone();
        for moved in [json!(future), json!(null)] {
            let outcome = write(json!({"started_at": moved}));
            assert_eq!(outcome.refused(), "invalid_input", "{outcome:?}");
            assert_eq!(conversation.document("ralph")["started_at"], before);
        }
        // The whole document, as it was read, may be written back.
        write(json!({"started_at": before})).ok();
    }
}

#[test]
fn modes_4_3_every_driving_mode_is_bounded_and_ends_its_dependents() {
    for host in BOTH {
        for mode in ["autopilot", "ralplan", "ultraqa", "pipeline", "swarm", "ultrapilot"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            project.omx(&["config", "set", "limits.max_holds", "2", "--project"]);
            conversation.prompt(&format!("${mode} mend the parser"));
            let (holds, _) = until_allowed(&conversation, |turn| {
                conversation.tool("Bash");
                format!("part {turn}")
            });
            assert_eq!(holds, 2, "{mode}");
            assert_eq!(conversation.document(mode)["run_outcome"], "blocked_on_user", "{mode}");
        }
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph ultrawork mend the parser");
        conversation.write(json!({"mode": "ralph", "max_iterations": 1, "linked_ultrawork": true}));
        conversation.write(json!({"mode": "ultrawork", "active": true, "linked_to_ralph": true}));
        until_allowed(&conversation, |turn| {
            conversation.tool("Bash");
            format!("part {turn}")
        });
        assert_eq!(conversation.document("ralph")["run_outcome"], "failed");
        assert_eq!(conversation.document("ultrawork")["active"], false);
        assert_eq!(conversation.stop("free"), json!({}));
    }
}

//! modes.md 5.3 and 5.3b: a call without a task resumes, reports or asks, and never wipes.

use omx_testkit::{MODES, TestProject};
use serde_json::{Value, json};

use super::kit::{BOTH, HookHost, HostConversation, context, held, used_project};

fn claude<'a>(project: &'a TestProject, session: &'a str) -> HostConversation<'a> {
    HostConversation { project, host: HookHost::Claude, session }
}

/// What the person sees.
#[track_caller]
fn notice(answer: &Value) -> &str {
    answer["systemMessage"].as_str().unwrap_or_else(|| panic!("no notice in {answer}"))
}

/// Takes an autopilot to its second phase, with a plan.
fn plan(conversation: &HostConversation<'_>, call: &str) {
    conversation.prompt(call);
    let project = conversation.project;
    project.write(".omx/plans/prd-x.md", "the plan");
    project.write(".omx/plans/test-spec-x.md", "the tests");
    conversation.write(json!({"mode": "autopilot", "current_phase": "ralph", "handoff_artifacts":
        {"ralplan": {"plan_path": ".omx/plans/prd-x.md", "test_spec_path": ".omx/plans/test-spec-x.md"}}}));
}

#[test]
fn modes_5_3b_a_bare_call_resumes_a_failed_run_of_this_session_with_everything_it_had() {
    for host in BOTH {
        for call in
            ["$autopilot", "/autopilot", "/oh-my-claudecode:autopilot", "$autopilot continue"]
        {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            plan(&conversation, "$autopilot build a parser");
            conversation
                .write(json!({"mode": "autopilot", "current_phase": "failed", "error": "no disk"}));
            let before = conversation.document("autopilot");
            let answer = conversation.prompt(call);
            let text = context(&answer);
            assert!(text.contains("resumed") && text.contains("no disk"), "{call}: {text}");
            assert!(text.contains("Task: build a parser"), "{call}: {text}");
            assert!(notice(&answer).contains("Autopilot resumed"), "{answer}");
            let after = conversation.document("autopilot");
            assert_eq!(
                (&after["active"], &after["current_phase"]),
                (&json!(true), &json!("ralph"))
            );
            assert_eq!(after["handoff_artifacts"], before["handoff_artifacts"], "{call}");
            assert_eq!(after["started_at"], before["started_at"], "{call}");
            held(&conversation.stop("done?"));
        }
    }
}

#[test]
fn modes_5_3b_a_bare_call_on_a_complete_run_reports_it_and_starts_nothing() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        plan(&conversation, "$autopilot build a parser");
        conversation.write(json!({"mode": "autopilot", "current_phase": "code-review", "handoff_artifacts":
            {"ralph": {"changed_files": ["src/parse.rs"], "evidence": [{"command": "make test", "exit_code": 0}]}}}));
        conversation.write(json!({"mode": "autopilot", "current_phase": "complete", "review_verdict":
            {"recommendation": "APPROVE", "architectural_status": "CLEAR", "clean": true, "findings": []},
            "return_to_ralplan_reason": null}));
        let before = project.bytes(".omx/state/sessions");
        let answer = conversation.prompt("/autopilot");
        let text = context(&answer);
        for part in [
            "is complete",
            "build a parser",
            "prd-x.md",
            "src/parse.rs",
            "make test",
            "APPROVE, CLEAR",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(notice(&answer).contains("complete"), "{answer}");
        // omx did not run the command.
        let claim = "Evidence reported by the agent: `make test` exited with 0";
        assert!(text.contains(claim) && notice(&answer).contains(claim), "{answer}");
        assert_eq!(project.bytes(".omx/state/sessions"), before);
        assert_eq!(conversation.stop("done"), json!({}));
        // A new session learns of it too.
        let answer = claude(&project, "s2").prompt("/autopilot");
        assert!(context(&answer).contains("is complete"), "{answer}");
        // Only a call with a task starts a new run.
        let answer = conversation.prompt("/autopilot build a lexer");
        assert!(context(&answer).contains("started"), "{answer}");
    }
}

#[test]
fn modes_5_3b_with_nothing_to_resume_a_bare_call_asks_for_a_task() {
    for host in BOTH {
        for mode in MODES {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            let before = project.bytes(".omx/log");
            let answer = conversation.prompt(&format!("${mode}"));
            assert!(context(&answer).contains("no task was given"), "{mode}: {answer}");
            assert!(notice(&answer).contains("needs a task"), "{mode}: {answer}");
            assert_eq!(project.bytes(".omx/log"), before, "{mode}");
            assert!(!project.state("sessions").exists(), "{mode}");
        }
    }
    // Where omx was never used, nothing is created.
    let project = crate::project();
    let answer = claude(&project, "s1").prompt("/team");
    assert!(context(&answer).contains("no task was given"), "{answer}");
    assert!(!project.root().join(".omx").exists());
    // A cancelled ralph has ended: its document stays as it is.
    let project = used_project();
    let conversation = claude(&project, "s1");
    conversation.prompt("$ralph mend the parser");
    conversation.prompt("cancelomx");
    let before = project.bytes(".omx/state/sessions");
    assert!(context(&conversation.prompt("$ralph")).contains("no task was given"));
    assert_eq!(project.bytes(".omx/state/sessions"), before);
}

#[test]
fn modes_5_3b_the_latest_run_of_another_session_is_taken_over() {
    for host in BOTH {
        let project = used_project();
        let old = HostConversation { project: &project, host, session: "old" };
        plan(&old, "$autopilot build a parser");
        old.prompt("cancelomx");
        let before = old.document("autopilot");
        let new = HostConversation { project: &project, host, session: "new" };
        let answer = new.prompt("/autopilot");
        let text = context(&answer);
        for part in ["resumed", "build a parser", "was cancelled", "s ago", "in session old"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(notice(&answer).contains("build a parser"), "{answer}");
        let after = new.document("autopilot");
        assert_eq!((&after["active"], &after["current_phase"]), (&json!(true), &json!("ralph")));
        assert_eq!(after["session_id"], "new");
        assert_eq!(after["handoff_artifacts"], before["handoff_artifacts"]);
        assert!(after["revision"].as_u64() > before["revision"].as_u64(), "{after}");
        held(&new.stop("done?"));
        // One run has one document: the old conversation does not hold and cannot revive it.
        assert!(!project.session("old", "autopilot-state.json").exists());
        assert_eq!(old.stop("done?"), json!({}));
        assert!(context(&old.prompt("/autopilot")).contains("no task was given"));
        assert!(context(&old.prompt("cancel all")).contains("Autopilot cancelled"));
    }
}

#[test]
fn modes_5_3b_a_live_run_of_another_session_is_left_alone() {
    let project = used_project();
    let other = claude(&project, "other");
    other.prompt("$autopilot build a parser");
    let before = project.bytes(".omx/state/sessions");
    let answer = claude(&project, "s1").prompt("/autopilot");
    assert!(context(&answer).contains("no task was given"), "{answer}");
    assert_eq!(project.bytes(".omx/state/sessions"), before);
}

#[test]
fn modes_5_3b_this_sessions_run_is_preferred_and_the_latest_of_the_others_is_taken() {
    let project = used_project();
    for (session, task) in [("a", "first task"), ("b", "second task")] {
        let conversation = claude(&project, session);
        conversation.prompt(&format!("$ralph {task}"));
        conversation
            .write(json!({"mode": "ralph", "run_outcome": "blocked_on_user", "error": "token?"}));
    }
    let answer = claude(&project, "c").prompt("$ralph");
    assert!(context(&answer).contains("second task"), "{answer}");
    assert!(context(&answer).contains("stopped to wait for the person"), "{answer}");
    let answer = claude(&project, "a").prompt("$ralph");
    assert!(context(&answer).contains("first task"), "{answer}");
}

#[test]
fn modes_5_3_continue_while_active_gives_the_phases_instruction() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        plan(&conversation, "$autopilot build a parser");
        for words in ["continue", "resume", "keep going", "Please continue."] {
            let before = conversation.document("autopilot");
            let answer = conversation.prompt(words);
            let text = context(&answer);
            assert!(text.contains("Implement and verify the plan"), "{words}: {text}");
            assert_eq!(conversation.document("autopilot"), before, "{words}");
        }
    }
}

#[test]
fn modes_4_5_a_bare_call_at_the_limit_names_the_command_that_raises_it() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph build a parser");
        conversation.write(json!({"mode": "ralph", "max_iterations": 1}));
        held(&conversation.stop("done?"));
        conversation.stop("done!");
        assert_eq!(conversation.document("ralph")["error"], "max_iterations reached");
        let answer = conversation.prompt("$ralph");
        for text in [context(&answer), notice(&answer)] {
            assert!(text.contains("Ralph resumed"), "{text}");
            assert!(text.contains("omx limit --mode ralph s1 2"), "{text}");
        }
        // A run with iterations left does not speak of its limit.
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$ralph build a parser");
        conversation.write(json!({"mode": "ralph", "current_phase": "failed", "error": "no disk"}));
        assert!(!notice(&conversation.prompt("$ralph")).contains("limit"));
    }
}

//! Seed 003, on autopilot: its writes as they are written there, its phrases, and how a
//! conversation is led through the loop.

use omx_testkit::TestProject;
use serde_json::{Value, json};

use crate::hooks::kit::{BOTH, HostConversation, context, held, used_project};
use crate::project;

pub const PHASES: [&str; 3] = ["ralplan", "ralph", "code-review"];

/// The start of the document, with a context snapshot.
pub fn start() -> Value {
    json!({"mode": "autopilot", "active": true, "current_phase": "ralplan", "iteration": 1,
        "review_cycle": 0, "state": {
            "phase_cycle": PHASES,
            "handoff_artifacts": {"context_snapshot_path": ".omx/context/parser-1.md",
                "ralplan": null, "ralph": null, "code_review": null},
            "review_verdict": null, "return_to_ralplan_reason": null}})
}

/// From planning to building, with the plan of this cycle.
pub fn planned(project: &TestProject, cycle: usize) -> Value {
    let (plan, tests) =
        (format!(".omx/plans/prd-{cycle}.md"), format!(".omx/plans/test-spec-{cycle}.md"));
    project.write(&plan, format!("plan {cycle}"));
    project.write(&tests, format!("tests {cycle}"));
    json!({"mode": "autopilot", "current_phase": "ralph",
        "handoff_artifacts": {"ralplan": {"plan_path": plan, "test_spec_path": tests}}})
}

/// From building to the review, with the evidence of this cycle.
pub fn built(cycle: usize) -> Value {
    json!({"mode": "autopilot", "current_phase": "code-review", "handoff_artifacts": {"ralph": {
        "changed_files": ["src/parser.rs"],
        "evidence": [{"command": format!("make test CYCLE={cycle}"), "exit_code": 0}]}}})
}

/// A review that is not clean, with the counters the document asks for.
pub fn not_clean(cycle: usize, finding: &str) -> Value {
    json!({"mode": "autopilot", "current_phase": "ralplan", "iteration": cycle + 1,
        "review_cycle": cycle,
        "review_verdict": {"recommendation": "REQUEST CHANGES", "architectural_status": "WATCH",
            "clean": false, "findings": [{"title": finding, "file": "src/parser.rs"}]},
        "handoff_artifacts": {"code_review": {"findings": [finding]}},
        "return_to_ralplan_reason": finding})
}

pub fn clean() -> Value {
    json!({"mode": "autopilot", "active": false, "current_phase": "complete",
        "review_verdict":
            {"recommendation": "APPROVE", "architectural_status": "CLEAR", "clean": true},
        "return_to_ralplan_reason": null, "completed_at": "2026-11-16T12:00:00.000Z"})
}

#[test]
fn seed_003_the_writes_of_the_document_pass_as_written_by_both_ways() {
    for by_mcp in [false, true] {
        let project = project();
        let mut server = project.mcp();
        let mut write = |input: Value| {
            let mut input = input;
            input["session_id"] = json!("s");
            if by_mcp {
                let (is_error, answer) = server.call("state_write", &input);
                assert!(!is_error, "{input}: {answer}");
            } else {
                project.put(input);
            }
            project.session_document("s", "autopilot")
        };
        let fresh = write(start());
        assert_eq!(fresh["max_iterations"], 10);
        assert_eq!(fresh["phase_cycle"], json!(PHASES));
        assert_eq!(write(planned(&project, 1))["current_phase"], "ralph");
        assert_eq!(write(built(1))["current_phase"], "code-review");
        let back = write(not_clean(1, "it leaks"));
        assert_eq!((&back["active"], &back["current_phase"]), (&json!(true), &json!("ralplan")));
        assert_eq!((&back["iteration"], &back["review_cycle"]), (&json!(2), &json!(1)));
        assert_eq!(back["review_verdict"]["clean"], false);
        assert_eq!(back["handoff_artifacts"]["code_review"], json!({"findings": ["it leaks"]}));
        assert_eq!(back["return_to_ralplan_reason"], "it leaks");
        write(planned(&project, 2));
        write(built(2));
        let end = write(clean());
        assert_eq!((&end["active"], &end["current_phase"]), (&json!(false), &json!("complete")));
        assert_eq!(end["review_verdict"]["clean"], true);
        assert_eq!(end.get("return_to_ralplan_reason"), Some(&Value::Null));
        assert_eq!((&end["iteration"], &end["review_cycle"]), (&json!(2), &json!(1)));
        assert_eq!(end["run_outcome"], "finish");
        assert!(end["completed_at"].is_string());
        // The evidence of the cycle that passed stays with the document.
        let handed = &end["handoff_artifacts"];
        assert_eq!(handed["ralplan"]["plan_path"], ".omx/plans/prd-2.md");
        assert_eq!(handed["ralph"]["evidence"][0]["command"], "make test CYCLE=2");
        assert_eq!(handed["context_snapshot_path"], ".omx/context/parser-1.md");
    }
}

#[test]
fn seed_003_no_phase_is_skipped_and_no_other_phase_exists() {
    let project = project();
    for phase in ["ralph", "code-review"] {
        let mut skipping = start();
        skipping["current_phase"] = json!(phase);
        assert_eq!(project.state_op("write", &skipping).refused(), "illegal_transition");
    }
    for phase in ["expansion", "execution", "qa", "validation"] {
        let mut foreign = start();
        foreign["current_phase"] = json!(phase);
        assert_eq!(project.state_op("write", &foreign).refused(), "invalid_phase", "{phase}");
    }
    project.put(start());
    for input in [built(1), clean(), json!({"mode": "autopilot", "current_phase": "complete"})] {
        assert_eq!(project.state_op("write", &input).refused(), "illegal_transition", "{input}");
    }
    // Without its plan, without its evidence, and from the review anywhere but back.
    let bare = json!({"mode": "autopilot", "current_phase": "ralph"});
    assert_eq!(project.state_op("write", &bare).refused(), "illegal_transition");
    project.put(planned(&project, 1));
    let bare = json!({"mode": "autopilot", "current_phase": "code-review"});
    assert_eq!(project.state_op("write", &bare).refused(), "illegal_transition");
    project.put(built(1));
    let patched = json!({"mode": "autopilot", "current_phase": "ralph"});
    assert_eq!(project.state_op("write", &patched).refused(), "illegal_transition");
}

#[test]
fn seed_003_every_verdict_but_approve_and_clear_is_not_clean() {
    for (recommendation, status, findings, is_clean) in [
        ("APPROVE", "CLEAR", json!([]), true),
        ("COMMENT", "CLEAR", json!([]), false),
        ("REQUEST CHANGES", "CLEAR", json!([]), false),
        ("APPROVE", "WATCH", json!([]), false),
        ("APPROVE", "BLOCK", json!([]), false),
        ("APPROVE", "CLEAR", json!([{"title": "open"}]), false),
    ] {
        let project = project();
        project.put(start());
        project.put(planned(&project, 1));
        project.put(built(1));
        let mut end = clean();
        end["review_verdict"] = json!({"recommendation": recommendation,
            "architectural_status": status, "clean": is_clean, "findings": findings});
        let outcome = project.state_op("write", &end);
        assert_eq!(outcome.code == Some(0), is_clean, "{recommendation} {status}: {outcome:?}");
        let mut back = not_clean(1, "x");
        back["review_verdict"] = end["review_verdict"].clone();
        let outcome = project.state_op("write", &back);
        assert_eq!(outcome.code == Some(0), !is_clean, "{recommendation} {status}: {outcome:?}");
    }
}

#[test]
fn seed_003_its_phrases_suggest_and_start_when_configured() {
    let phrases = [
        "put the changelog on autopilot",
        "auto pilot the release notes",
        "go autonomous on ticket.md",
        "build me a dashboard for the build times",
        "create me a dashboard for the build times",
        "make me a dashboard for the build times",
        "go full auto on ticket.md",
        "handle it all: EXP-311 lacks a column",
        "I want a tool that lists slow tests",
        "I want an importer for bank statements",
    ];
    let silenced = ["just explain", "draft only", "what would you suggest"];
    for (setting, wanted) in
        [("explicit", "Suggests autopilot"), ("phrases", "Starts autopilot"), ("off", "Starts n")]
    {
        let project = used_project();
        project.omx(&["config", "set", "keywords", setting, "--project"]);
        for phrase in phrases {
            let text = project.omx(&["hook", "explain", phrase]).stdout;
            assert!(text.starts_with(wanted), "{setting}: {phrase}: {text}");
            for words in silenced {
                let prompt = format!("{words}: {phrase}");
                let text = project.omx(&["hook", "explain", &prompt]).stdout;
                assert!(text.starts_with("Starts nothing."), "{setting}: {prompt}: {text}");
            }
        }
        let text = project.omx(&["hook", "explain", "$autopilot build it"]).stdout;
        assert!(text.starts_with("Starts autopilot"), "{setting}: {text}");
    }
}

#[test]
fn seed_003_a_conversation_is_led_through_the_loop_until_the_review_is_clean() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        let started = conversation.prompt("$autopilot repair the parser");
        assert!(context(&started).contains("Autopilot started"), "{started}");
        let document = conversation.document("autopilot");
        let snapshot = document["handoff_artifacts"]["context_snapshot_path"].as_str().unwrap();
        assert!(snapshot.starts_with(".omx/context/repair-the-parser-"), "{snapshot}");
        assert!(project.read(snapshot).contains("repair the parser"));
        let holds = |phase: &str| {
            let answer = conversation.stop(&format!("I worked on {phase}"));
            let text = held(&answer);
            assert!(text.contains(phase) && text.contains("cancelomx"), "{phase}: {text}");
            conversation.tool("Bash");
        };
        holds("ralplan");
        conversation.write(planned(&project, 1));
        holds("ralph");
        conversation.write(built(1));
        holds("code-review");
        let mut end = clean();
        end.as_object_mut().unwrap().remove("completed_at");
        conversation.write(end);
        assert_eq!(conversation.stop("done"), json!({}));
        assert_eq!(conversation.document("autopilot")["current_phase"], "complete");
    }
}

#[test]
fn seed_003_missing_credentials_stop_the_run_and_keep_it() {
    for host in BOTH {
        let project = used_project();
        let conversation = HostConversation { project: &project, host, session: "s1" };
        conversation.prompt("$autopilot repair the parser");
        conversation.write(planned(&project, 1));
        let question = "which token may I use?";
        conversation.write(
            json!({"mode": "autopilot", "run_outcome": "blocked_on_user", "error": question}),
        );
        assert_eq!(conversation.stop("I need a token"), json!({}));
        let blocked = conversation.document("autopilot");
        assert_eq!((&blocked["active"], &blocked["error"]), (&json!(false), &json!(question)));
        let answer = conversation.prompt("continue");
        assert!(context(&answer).contains("Autopilot resumed"), "{answer}");
        let resumed = conversation.document("autopilot");
        assert_eq!(resumed["current_phase"], "ralph");
        assert_eq!(resumed["handoff_artifacts"], blocked["handoff_artifacts"]);
        held(&conversation.stop("working"));
    }
}

#[test]
fn seed_003_stop_cancel_and_abort_end_it_with_its_progress_kept() {
    for host in BOTH {
        for word in ["stop", "cancel", "abort", "$cancel"] {
            let project = used_project();
            let conversation = HostConversation { project: &project, host, session: "s1" };
            conversation.prompt("$autopilot repair the parser");
            conversation.write(planned(&project, 1));
            let before = conversation.document("autopilot");
            let answer = conversation.prompt(word);
            let text = context(&answer);
            assert!(text.contains("Autopilot cancelled at phase: ralph."), "{word}: {text}");
            let after = conversation.document("autopilot");
            assert_eq!(after["active"], false, "{word}");
            for name in ["current_phase", "handoff_artifacts", "phase_cycle", "review_cycle"] {
                assert_eq!(after[name], before[name], "{word}: {name}");
            }
            assert_eq!(conversation.stop("stopped"), json!({}), "{word}");
            assert!(context(&conversation.prompt("$autopilot")).contains("resumed"), "{word}");
            assert_eq!(conversation.document("autopilot")["current_phase"], "ralph", "{word}");
        }
    }
}

//! modes.md 2.2 to 2.6: what counts as evidence, item by item.

use omx_kernel::evidence::{FactQuery, evidence_paths};
use omx_kernel::request::WriteRequest;
use omx_kernel::write::required_facts;
use omx_kernel::{Mode, RefusalCode};

use crate::support::{SessionWorld, object, value};

fn allowed(mode: Mode, from: &str, to: &str, evidence: &str) -> bool {
    let world = SessionWorld::live(mode, from, "").files(&["p.md", "t.md", "log.txt"]);
    let input = format!(r#"{{"current_phase":"{to}",{evidence}}}"#);
    match world.plan(mode, &input) {
        Ok(_) => true,
        Err(refusal) => {
            assert_eq!(refusal.code, RefusalCode::IllegalTransition, "{refusal}");
            false
        }
    }
}

#[test]
fn modes_2_1_the_plan_handoff_names_an_existing_plan_and_test_spec() {
    let table = [
        (r#"{"plan_path":"p.md","test_spec_path":"t.md"}"#, true),
        (r#"{"prd":"p.md","test_spec":"t.md"}"#, true),
        (r#"{"plan_path":"p.md"}"#, false),
        (r#"{"test_spec_path":"t.md"}"#, false),
        (r#"{"plan_path":"gone.md","test_spec_path":"t.md"}"#, false),
        (r#"{"plan_path":"p.md","test_spec_path":"gone.md"}"#, false),
        (r#"{"plan_path":true,"test_spec_path":"t.md"}"#, false),
        (r#"{"plan_path":"p.md","test_spec_path":"p.md"}"#, false),
        ("null", false),
        (r#""p.md""#, false),
    ];
    for (handoff, expected) in table {
        let evidence = format!(r#""handoff_artifacts":{{"ralplan":{handoff}}}"#);
        assert_eq!(allowed(Mode::Autopilot, "ralplan", "ralph", &evidence), expected, "{handoff}");
    }
}

#[test]
fn modes_2_1_the_work_handoff_names_changed_files_and_evidence() {
    let table = [
        (r#"{"changed_files":["a"],"evidence":[{"command":"make","exit_code":0}]}"#, true),
        (r#"{"changed_files":["a"],"evidence":{"command":"make","exit_code":0}}"#, true),
        (r#"{"changed_files":["a"],"evidence":[{"path":"log.txt"}]}"#, true),
        (r#"{"changed_files":["a"],"evidence":[{"command":"make","path":"log.txt"}]}"#, true),
        (r#"{"changed_files":["a"],"evidence":["b"]}"#, false),
        (r#"{"changed_files":["a"],"evidence":["log.txt"]}"#, false),
        (r#"{"changed_files":["a"],"evidence":{"tests":"ok"}}"#, false),
        (r#"{"changed_files":["a"],"evidence":[{"command":"make","exit_code":1}]}"#, false),
        (
            r#"{"changed_files":["a"],"evidence":[{"command":"make","exit_code":1,"path":"log.txt"}]}"#,
            false,
        ),
        (r#"{"changed_files":["a"],"evidence":[{"command":"make"}]}"#, false),
        (r#"{"changed_files":["a"],"evidence":[{"exit_code":0}]}"#, false),
        (r#"{"changed_files":["a"],"evidence":[{"path":"gone.txt"}]}"#, false),
        (r#"{"changed_files":["a"],"evidence":[{"command":"make","exit_code":0},"x"]}"#, false),
        (r#"{"changed_files":[],"evidence":[{"command":"make","exit_code":0}]}"#, false),
        (r#"{"changed_files":["a"],"evidence":[]}"#, false),
        (r#"{"changed_files":["a"],"evidence":" "}"#, false),
        (r#"{"changed_files":["a"]}"#, false),
        (r#"{"evidence":[{"command":"make","exit_code":0}]}"#, false),
        ("null", false),
    ];
    for (handoff, expected) in table {
        let evidence = format!(r#""handoff_artifacts":{{"ralph":{handoff}}}"#);
        let result = allowed(Mode::Autopilot, "ralph", "code-review", &evidence);
        assert_eq!(result, expected, "{handoff}");
    }
}

/// The verdicts of modes.md 2.2 and 2.5, and whether they are clean.
fn verdicts() -> Vec<(String, bool)> {
    let mut all = Vec::new();
    for recommendation in ["APPROVE", "COMMENT", "REQUEST CHANGES"] {
        for status in ["CLEAR", "WATCH", "BLOCK"] {
            for (findings, open) in [
                ("", false),
                (r#","findings":[]"#, false),
                (r#","findings":[{"title":"x","resolved":true}]"#, false),
                (r#","findings":[{"title":"x","status":"fixed"}]"#, false),
                (r#","findings":[{"title":"x"}]"#, true),
                (r#","findings":["x"]"#, true),
                (r#","findings":[{"title":"x","resolved":true},{"title":"y"}]"#, true),
            ] {
                let clean = recommendation == "APPROVE" && status == "CLEAR" && !open;
                all.push((
                    format!(
                        r#""recommendation":"{recommendation}","architectural_status":"{status}"{findings}"#
                    ),
                    clean,
                ));
            }
        }
    }
    all
}

#[test]
fn modes_2_2_only_a_clean_review_completes_and_only_an_open_one_returns() {
    for (verdict, clean) in verdicts() {
        let done = format!(
            r#""review_verdict":{{{verdict},"clean":{clean}}},"return_to_ralplan_reason":null"#
        );
        assert_eq!(allowed(Mode::Autopilot, "code-review", "complete", &done), clean, "{done}");
        let back = format!(
            r#""review_verdict":{{{verdict},"clean":{clean}}},"return_to_ralplan_reason":"r","handoff_artifacts":{{"code_review":{{"f":1}}}}"#
        );
        assert_eq!(allowed(Mode::Autopilot, "code-review", "ralplan", &back), !clean, "{back}");
        assert!(!allowed(Mode::Autopilot, "code-review", "ralph", &back), "never patched in place");
    }
}

#[test]
fn modes_2_2_a_verdict_that_wrongly_says_clean_is_a_contradiction() {
    for mode in [Mode::Autopilot, Mode::CodeReview] {
        let phase = mode.spec().phases[mode.spec().phases.len() - 1];
        for (verdict, _) in verdicts().into_iter().filter(|(_, clean)| !clean) {
            let input = format!(r#"{{"review_verdict":{{{verdict},"clean":true}}}}"#);
            SessionWorld::live(mode, phase, "").write_refused(
                mode,
                RefusalCode::Contradiction,
                &input,
            );
        }
    }
}

#[test]
fn modes_2_2_complete_requires_clean_true_and_a_null_return_reason() {
    let verdict = r#""recommendation":"APPROVE","architectural_status":"CLEAR""#;
    let table = [
        (format!(r#""review_verdict":{{{verdict},"clean":true}}"#), true),
        (format!(r#""review_verdict":{{{verdict}}}"#), false),
        (format!(r#""review_verdict":{{{verdict},"clean":false}}"#), false),
        (
            format!(
                r#""review_verdict":{{{verdict},"clean":true}},"return_to_ralplan_reason":"still""#
            ),
            false,
        ),
        (r#""review_verdict":null"#.to_owned(), false),
    ];
    for (evidence, expected) in table {
        let result = allowed(Mode::Autopilot, "code-review", "complete", &evidence);
        assert_eq!(result, expected, "{evidence}");
    }
}

#[test]
fn modes_2_2_a_return_to_ralplan_requires_verdict_findings_and_reason() {
    let verdict = r#""review_verdict":{"recommendation":"COMMENT","architectural_status":"CLEAR"}"#;
    let found = r#""handoff_artifacts":{"code_review":{"f":1}}"#;
    let reason = r#""return_to_ralplan_reason":"r""#;
    let back = |evidence: &str| allowed(Mode::Autopilot, "code-review", "ralplan", evidence);
    assert!(back(&format!("{verdict},{found},{reason}")));
    assert!(!back(&format!("{found},{reason}")));
    assert!(!back(&format!("{verdict},{reason}")));
    assert!(!back(&format!("{verdict},{found}")));
    assert!(!back(&format!(r#"{verdict},{found},"return_to_ralplan_reason":"  ""#)));
    assert!(!back(&format!(r#"{verdict},{reason},"handoff_artifacts":{{"code_review":null}}"#)));
}

#[test]
fn modes_2_5_code_review_completes_with_both_lanes_clean_or_not() {
    for (verdict, _) in verdicts() {
        let evidence = format!(r#""review_verdict":{{{verdict}}}"#);
        assert!(allowed(Mode::CodeReview, "reviewing", "complete", &evidence), "{evidence}");
    }
    for missing in [
        r#"{"recommendation":"APPROVE"}"#,
        r#"{"architectural_status":"CLEAR"}"#,
        r#"{"recommendation":"LGTM","architectural_status":"CLEAR"}"#,
        r#"{"recommendation":"APPROVE","architectural_status":"FINE"}"#,
        "null",
    ] {
        let evidence = format!(r#""review_verdict":{missing}"#);
        assert!(!allowed(Mode::CodeReview, "reviewing", "complete", &evidence), "{missing}");
    }
}

const RAN: &str = r#"{"command":"cargo test","exit_code":0}"#;

fn audits() -> Vec<(String, bool)> {
    let audit = |passed: &str, checklist: &str, evidence: &str| {
        format!(r#"{{"passed":{passed},"checklist":{checklist},"evidence":{evidence}}}"#)
    };
    let ran = &format!("[{RAN}]");
    let done = r#"["built"]"#;
    vec![
        (audit("true", done, ran), true),
        (audit("true", r#"[{"item":"built","done":true}]"#, ran), true),
        (audit("true", done, r#"[{"path":"log.txt"}]"#), true),
        (audit("false", done, ran), false),
        (audit(r#""true""#, done, ran), false),
        (audit("true", "[]", ran), false),
        (audit("true", r#"[" "]"#, ran), false),
        (audit("true", r#"[{"item":"built","done":false}]"#, ran), false),
        (audit("true", r#"[{"item":"built"}]"#, ran), false),
        (audit("true", r#"["built",{"item":"shipped","done":false}]"#, ran), false),
        (audit("true", done, "[]"), false),
        (audit("true", done, r#"[{"command":"cargo test","exit_code":1}]"#), false),
        (audit("true", done, r#"[{"command":"","exit_code":0}]"#), false),
        (audit("true", done, r#"[{"command":"cargo test"}]"#), false),
        (audit("true", done, r#"[{"path":"gone.txt"}]"#), false),
        (audit("true", done, &format!(r#"[{RAN},{{"path":"gone.txt"}}]"#)), false),
        (r#"{"passed":true}"#.to_owned(), false),
    ]
}

#[test]
fn modes_2_3_a_completion_audit_passes_only_if_every_part_does() {
    for (audit, expected) in audits() {
        let evidence = format!(r#""completion_audit":{audit}"#);
        assert_eq!(allowed(Mode::Ralph, "verifying", "complete", &evidence), expected, "{audit}");
    }
}

#[test]
fn modes_2_3_the_audit_may_be_a_file() {
    let input = r#"{"current_phase":"complete","completion_audit_path":"audit.json"}"#;
    let required = {
        let world = SessionWorld::live(Mode::Ralph, "verifying", "");
        let request = WriteRequest::new(Mode::Ralph, None, object(input)).unwrap();
        required_facts(&world.snapshot, &request)
    };
    assert_eq!(required.audit_path.as_deref(), Some("audit.json"));
    for (audit, expected) in audits() {
        let mut world = SessionWorld::live(Mode::Ralph, "verifying", "").files(&["log.txt"]);
        world.facts.audit = Some(value(&audit));
        assert_eq!(world.plan(Mode::Ralph, input).is_ok(), expected, "{audit}");
    }
    let mut unreadable = SessionWorld::live(Mode::Ralph, "verifying", "");
    unreadable.write_refused(Mode::Ralph, RefusalCode::IllegalTransition, input);
}

#[test]
fn modes_2_4_consensus_requires_both_approvals_and_both_files() {
    let approve = r#""consensus":{"critic":"APPROVE","architect":"APPROVE"}"#;
    let paths = r#""plan_path":"p.md","test_spec_path":"t.md""#;
    let table = [
        (format!("{approve},{paths}"), true),
        (approve.to_owned(), false),
        (paths.to_owned(), false),
        (format!(r#"{approve},"plan_path":"p.md""#), false),
        (format!(r#"{approve},"plan_path":"gone.md","test_spec_path":"t.md""#), false),
        (format!(r#"{approve},"plan_path":"p.md","test_spec_path":"gone.md""#), false),
        (format!(r#"{approve},"plan_path":"p.md","test_spec_path":"p.md""#), false),
        (format!(r#""consensus":{{"critic":"APPROVE"}},{paths}"#), false),
        (format!(r#""consensus":{{"architect":"APPROVE"}},{paths}"#), false),
        (format!(r#""consensus":{{"critic":"REVISE","architect":"APPROVE"}},{paths}"#), false),
    ];
    for (evidence, expected) in table {
        let result = allowed(Mode::Ralplan, "critic-review", "complete", &evidence);
        assert_eq!(result, expected, "{evidence}");
    }
}

#[test]
fn modes_2_6_a_passing_check_has_a_command_and_exit_code_0() {
    let table = [
        (RAN, true),
        (r#"{"command":"x","exit_code":1}"#, false),
        (r#"{"command":"x","exit_code":"0"}"#, false),
        (r#"{"command":"x","exit_code":0.0}"#, false),
        (r#"{"command":"","exit_code":0}"#, false),
        (r#"{"exit_code":0}"#, false),
        (r#"{"command":"x"}"#, false),
    ];
    for (check, expected) in table {
        let evidence = format!(r#""last_check":{check}"#);
        for (mode, from) in
            [(Mode::Ultraqa, "qa"), (Mode::Ultrawork, "verifying"), (Mode::Ecomode, "verifying")]
        {
            assert_eq!(allowed(mode, from, "complete", &evidence), expected, "{check}");
        }
    }
}

#[test]
fn modes_2_1_ultrawork_and_ecomode_accept_a_check_or_an_audit() {
    for mode in [Mode::Ultrawork, Mode::Ecomode] {
        for (audit, expected) in audits() {
            let evidence = format!(r#""completion_audit":{audit}"#);
            assert_eq!(allowed(mode, "verifying", "complete", &evidence), expected);
            let both = format!(r#"{evidence},"last_check":{RAN}"#);
            assert!(allowed(mode, "verifying", "complete", &both), "{audit}");
        }
    }
}

#[test]
fn modes_2_1_team_ultrapilot_and_swarm_require_their_evidence() {
    let table = [
        (Mode::Team, "team-verify", r#""verification":{"passed":true,"checks":["t"]}"#, true),
        (Mode::Team, "team-verify", r#""verification":{"passed":true,"checks":[]}"#, false),
        (Mode::Team, "team-verify", r#""verification":{"passed":true}"#, false),
        (Mode::Team, "team-verify", r#""verification":{"passed":false,"checks":["t"]}"#, false),
        (Mode::Ultrapilot, "verifying", r#""verification":{"passed":true}"#, true),
        (Mode::Ultrapilot, "verifying", r#""verification":{"passed":"yes"}"#, false),
        (Mode::Swarm, "executing", r#""tasks":{"pending":0,"in_progress":0}"#, true),
        (Mode::Swarm, "executing", r#""tasks":{"pending":1,"in_progress":0}"#, false),
        (Mode::Swarm, "executing", r#""tasks":{"pending":0,"in_progress":2}"#, false),
        (Mode::Swarm, "executing", r#""tasks":{}"#, false),
    ];
    for (mode, from, evidence, expected) in table {
        assert_eq!(allowed(mode, from, "complete", evidence), expected, "{evidence}");
    }
}

#[test]
fn modes_2_1_only_a_write_that_may_need_them_asks_for_file_facts() {
    let world = SessionWorld::live(Mode::Ralplan, "critic-review", r#","plan_path":"p.md""#);
    let ask = |mode: Mode, input: &str| {
        required_facts(&world.snapshot, &WriteRequest::new(mode, None, object(input)).unwrap())
    };
    assert_eq!(ask(Mode::Ralplan, r#"{"iteration":1}"#), FactQuery::default());
    let required = ask(Mode::Ralplan, r#"{"run_outcome":"finish","test_spec_path":"t.md"}"#);
    assert_eq!(required.paths, ["p.md", "t.md"]);
    assert_eq!(ask(Mode::Ralph, r#"{"active":true}"#).paths, ["p.md"], "a hand-over asks too");
    let audit =
        r#"{"completion_audit":{"evidence":[{"path":"log.txt"}]},"current_phase":"complete"}"#;
    assert!(ask(Mode::Ralph, audit).paths.contains(&"log.txt".to_owned()));
    let evidence = value(r#"{"evidence":[{"path":"a"},{"command":"b"},{"path":1}]}"#);
    assert_eq!(evidence_paths(&evidence), ["a"]);
}

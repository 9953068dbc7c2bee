//! modes.md 2.1 to 2.3 on the built program: what counts as evidence on a real disk, and
//! that each cycle needs its own.

use std::fs;
use std::os::unix::fs::symlink;

use omx_testkit::TestProject;
use serde_json::{Value, json};

use crate::project;

fn write(project: &TestProject, fields: Value) -> Result<(), String> {
    let mut input = json!({"mode": "autopilot", "session_id": "s"});
    input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let outcome = project.omx(&["state", "write", "--json", "--input", &input.to_string()]);
    match outcome.code {
        Some(0) => Ok(()),
        _ => {
            let answer: Value = serde_json::from_str(&outcome.stdout).unwrap();
            assert_eq!(answer["code"], "illegal_transition", "{answer}");
            Err(answer["error"].as_str().unwrap().to_owned())
        }
    }
}

/// A project with files of every kind, and an autopilot in it.
fn with_files() -> TestProject {
    let project = project();
    for name in ["plan.md", "tests.md", "log.txt"] {
        project.write(name, "content\n");
    }
    project.write("empty.md", "");
    fs::create_dir(project.root().join("folder")).unwrap();
    fs::write(project.root().parent().unwrap().join("outside.md"), "x").unwrap();
    symlink("/etc/hostname", project.root().join("out.md")).unwrap();
    symlink("plan.md", project.root().join("same.md")).unwrap();
    write(&project, json!({"active": true})).unwrap();
    project
}

fn plan(plan: &str, tests: &str) -> Value {
    json!({"current_phase": "ralph",
        "handoff_artifacts": {"ralplan": {"plan_path": plan, "test_spec_path": tests}}})
}

fn work(evidence: Value) -> Value {
    json!({"current_phase": "code-review",
        "handoff_artifacts": {"ralph": {"changed_files": ["a.rs"], "evidence": evidence}}})
}

#[test]
fn modes_2_1_plan_and_test_spec_are_two_non_empty_files_inside_the_project() {
    let project = with_files();
    for bad in ["/etc/hostname", "empty.md", "folder", "../outside.md", "out.md", "gone.md", ""] {
        let error = write(&project, plan(bad, "tests.md")).unwrap_err();
        assert!(error.contains("handoff_artifacts.ralplan.plan_path"), "{bad}: {error}");
        let error = write(&project, plan("plan.md", bad)).unwrap_err();
        assert!(error.contains("handoff_artifacts.ralplan.test_spec_path"), "{bad}: {error}");
    }
    for same in ["plan.md", "./plan.md", "same.md"] {
        let error = write(&project, plan("plan.md", same)).unwrap_err();
        assert!(error.contains("another file than the plan"), "{same}: {error}");
    }
    assert!(write(&project, plan("/etc/hostname", "/etc/hostname")).is_err());
    let absolute = project.root().join("plan.md").display().to_string();
    write(&project, plan(&absolute, "tests.md")).unwrap();
}

#[test]
fn modes_2_1_evidence_is_a_command_that_succeeded_or_a_file_inside_the_project() {
    let project = with_files();
    write(&project, plan("plan.md", "tests.md")).unwrap();
    for bad in [
        json!(["x"]),
        json!("tests pass"),
        json!([]),
        json!({"tests": "ok"}),
        json!([{"command": "make", "exit_code": 1}]),
        json!([{"command": "make", "exit_code": 0}, {"command": "make lint", "exit_code": 2}]),
        json!([{"command": "make"}]),
        json!([{"path": "/etc/hostname"}]),
        json!([{"path": "empty.md"}]),
        json!([{"path": "folder"}]),
        json!([{"path": "../outside.md"}]),
        json!([{"path": "out.md"}]),
    ] {
        let error = write(&project, work(bad.clone())).unwrap_err();
        assert!(error.contains("handoff_artifacts.ralph.evidence"), "{bad}: {error}");
        assert!(error.contains("exit_code: 0") && error.contains("inside the project"), "{error}");
    }
    let good = json!([{"command": "make", "exit_code": 0}, {"path": "log.txt"}]);
    write(&project, work(good)).unwrap();
}

#[test]
fn modes_2_2_the_second_cycle_does_not_pass_on_the_evidence_of_the_first() {
    let project = with_files();
    let proof = || json!([{"command": "make", "exit_code": 0}]);
    write(&project, plan("plan.md", "tests.md")).unwrap();
    write(&project, work(proof())).unwrap();
    let back = json!({"current_phase": "ralplan", "iteration": 2, "review_cycle": 1,
        "review_verdict": {"recommendation": "COMMENT", "architectural_status": "CLEAR",
            "clean": false},
        "return_to_ralplan_reason": "a leak",
        "handoff_artifacts": {"code_review": {"findings": ["a leak"]}}});
    write(&project, back.clone()).unwrap();
    let error = write(&project, json!({"current_phase": "ralph"})).unwrap_err();
    assert!(error.contains("handoff_artifacts.ralplan"), "{error}");
    write(&project, plan("plan.md", "tests.md")).unwrap();
    let error = write(&project, json!({"current_phase": "code-review"})).unwrap_err();
    assert!(error.contains("handoff_artifacts.ralph"), "{error}");
    write(&project, work(proof())).unwrap();
    let mut again = back;
    again["iteration"] = json!(3);
    again["review_cycle"] = json!(2);
    again.as_object_mut().unwrap().remove("handoff_artifacts");
    let error = write(&project, again).unwrap_err();
    assert!(error.contains("handoff_artifacts.code_review"), "{error}");
    let document: Value =
        serde_json::from_str(&project.read(project.session("s", "autopilot-state.json"))).unwrap();
    let cycle = &document["history"][0];
    assert_eq!(cycle["handoff_artifacts"]["ralplan"]["plan_path"], "plan.md");
    assert_eq!(cycle["handoff_artifacts"]["ralph"]["changed_files"], json!(["a.rs"]));
    assert_eq!(cycle["handoff_artifacts"]["code_review"]["findings"], json!(["a leak"]));
    assert_eq!(cycle["review_verdict"]["recommendation"], "COMMENT");
}

#[test]
fn modes_2_2_the_same_verification_failure_in_three_cycles_fails_a_run_in_a_conversation() {
    let project = project();
    let write = |mut fields: Value| {
        fields["mode"] = json!("ralph");
        fields["session_id"] = json!("s");
        project.omx(&["state", "write", "--json", "--input", &fields.to_string()]).ok()
    };
    write(json!({"active": true, "current_phase": "executing"}));
    for round in 1..=3 {
        write(json!({"current_phase": "verifying"}));
        let answer = write(json!({"current_phase": "fixing", "last_check": {
            "command": "make test", "exit_code": 2, "failure": format!("login: {round} ms late")}}));
        if round == 3 {
            assert_eq!(answer["run_outcome"], "failed", "{answer}");
            let why = answer["ended_because"].as_str().unwrap();
            assert!(why.contains("the same verification failure"), "{why}");
        } else {
            assert_eq!(answer.get("run_outcome"), None, "{answer}");
            write(json!({"current_phase": "executing"}));
        }
    }
}

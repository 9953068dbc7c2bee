//! Runs of the real programs that fail: the same failure again and again, and a
//! failed stage that is resumed.

use std::fs;

use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::{Value, json};

use super::journal_checks::{asks, own};
use super::parts::{self, after, answers, works};
use super::project::RealProject;

fn the_same_failure_three_times(cli: AgentCli) {
    let cause = "check.sh wants greet.sh, which nobody wrote";
    let project = RealProject::new(
        cli,
        [
            answers("diagnose", &[parts::DIAGNOSE], parts::looked(cause)),
            works(
                "fix",
                &[parts::FIX],
                "echo tried >> tried.txt",
                parts::work("Tried something that does not help"),
            ),
        ],
    );
    let outcome = project.run("ultraqa", &["--command", "sh check.sh"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?} {:#?}", project.server.seen());
    let document = project.document("ultraqa");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("failed")));
    let error = document["error"].as_str().unwrap();
    assert!(error.contains("same failure"), "{document:#}");
    assert!(document.to_string().contains(cause), "{document:#}");
    assert_eq!(document["last_check"]["command"], "sh check.sh");
    assert_ne!(document["last_check"]["exit_code"], 0);
    assert!(outcome.stdout.contains("failed: "), "{outcome:#?}");
    assert_eq!(project.closed(), ["failed"]);
    assert_eq!(project.on_branch("tried.txt"), "tried\ntried\n");
    assert_eq!(project.commits().len(), 2);
    project.assert_left_alone();
    project.assert_books(
        &[
            own("check1"),
            asks("diagnose1", "diagnose", 1),
            asks("fix1", "fix", 2),
            own("check2"),
            asks("diagnose2", "diagnose", 1),
            asks("fix2", "fix", 2),
            own("check3"),
        ],
        &[],
    );
}

const STAGES: &str = r#"
[[stage]]
name = "survey"
role = "explore"
prompt = "Survey what there is to greet."

[[stage]]
name = "build"
role = "executor"
prompt = "Build the greeting that was surveyed."

[[stage]]
name = "prove"
role = "verifier"
prompt = "Prove that the greeting works."
"#;

fn a_failed_stage_is_resumed(cli: AgentCli) {
    let reason = "there is no shell to greet with";
    let mut cannot = parts::looked("I could not build it.");
    cannot["done"] = json!(false);
    cannot["blocked_reason"] = json!(reason);
    let build = ["Build the greeting that was surveyed.", &after("stage1")];
    let project = RealProject::new(
        cli,
        [
            answers("survey", &["Survey what there is"], parts::looked("There is check.sh.")),
            answers("build", &build, cannot),
            answers("prove", &["Prove that the greeting works."], parts::verified()),
        ],
    );
    let file = project.home.folder().join("stages.toml");
    fs::write(&file, STAGES).unwrap();
    let outcome = project.run("pipeline", &["--stages", file.to_str().unwrap(), "greet people"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?} {:#?}", project.server.seen());
    assert!(outcome.stdout.contains(reason), "{outcome:#?}");
    let document = project.document("pipeline");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("failed")));
    assert_eq!(ended_in(&document), "stage:build", "{document:#}");
    assert!(document["error"].as_str().unwrap().contains(reason), "{document:#}");
    assert_eq!(document["stage_results"]["survey"]["summary"], "There is check.sh.");
    project.assert_left_alone();
    assert_eq!(project.server.turns("survey").len(), 1);
    assert_eq!(project.server.turns("build").len(), 1);

    project.server.add(works("build", &build, parts::RIGHT, parts::work("greet.sh greets")));
    let outcome = project.resume();
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", project.server.seen());
    let document = project.document("pipeline");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("finish")));
    assert_eq!(document["current_phase"], "complete");
    let results = &document["stage_results"];
    assert_eq!(results["survey"]["summary"], "There is check.sh.");
    assert_eq!(results["build"]["done"], true);
    assert_eq!(results["prove"]["passed"], true);
    assert_eq!(project.closed(), ["failed", "complete"]);
    // The first stage was not repeated.
    assert_eq!(project.server.turns("survey").len(), 1);
    let finished = project.steps("step_finished");
    assert_eq!(finished.iter().filter(|step| *step == "stage1").count(), 1);
    assert_eq!(finished.last().unwrap(), "stage3");
    assert_eq!(project.server.turns("prove").len(), 1);
    assert_eq!(project.commits(), ["greet.sh greets"]);
    assert_eq!(project.on_branch("greet.sh"), "echo \"Hello, ${1:-world}!\"\n");
    project.assert_left_alone();
}

/// The final phase of an ended document.
fn ended_in(document: &Value) -> &str {
    document["ended_in_phase"].as_str().or(document["current_phase"].as_str()).unwrap()
}

#[test]
fn codex_ultraqa_gives_up_after_the_same_failure_three_times() {
    offline(&[AgentCli::Codex], || the_same_failure_three_times(AgentCli::Codex));
}

#[test]
fn claude_ultraqa_gives_up_after_the_same_failure_three_times() {
    offline(&[AgentCli::Claude], || the_same_failure_three_times(AgentCli::Claude));
}

#[test]
fn codex_pipeline_resumes_at_the_failed_stage() {
    offline(&[AgentCli::Codex], || a_failed_stage_is_resumed(AgentCli::Codex));
}

#[test]
fn claude_pipeline_resumes_at_the_failed_stage() {
    offline(&[AgentCli::Claude], || a_failed_stage_is_resumed(AgentCli::Claude));
}

//! Runs of the real programs that do not end well: the same failure again and
//! again, and a stage that fails and is gone on with.

use std::fs;

use omx_testkit::real_cli::{AgentCli, offline};
use serde_json::{Value, json};

use super::books::{asks, own};
use super::parts::{self, after, answers, works};
use super::site::Site;

fn the_same_failure_three_times(cli: AgentCli) {
    let cause = "check.sh wants greet.sh, which nobody wrote";
    let site = Site::new(
        cli,
        [
            answers("diagnose", &[parts::DIAGNOSE], parts::looked(cause)),
            works(
                "fix",
                &[parts::MEND],
                "echo tried >> tried.txt",
                parts::work("Tried something that does not help"),
            ),
        ],
    );
    let outcome = site.run("ultraqa", &["--command", "sh check.sh"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?} {:#?}", site.server.seen());
    let document = site.document("ultraqa");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("failed")));
    let error = document["error"].as_str().unwrap();
    assert!(error.contains("same failure"), "{document:#}");
    assert!(document.to_string().contains(cause), "{document:#}");
    assert_eq!(document["last_check"]["command"], "sh check.sh");
    assert_ne!(document["last_check"]["exit_code"], 0);
    assert!(outcome.stdout.contains("failed: "), "{outcome:#?}");
    assert_eq!(site.closed(), ["failed"]);
    assert_eq!(site.on_branch("tried.txt"), "tried\ntried\n");
    assert_eq!(site.commits().len(), 2);
    site.assert_left_alone();
    site.assert_books(
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

fn a_stage_fails_and_is_gone_on_with(cli: AgentCli) {
    let reason = "there is no shell to greet with";
    let mut cannot = parts::looked("I could not build it.");
    cannot["done"] = json!(false);
    cannot["blocked_reason"] = json!(reason);
    let build = ["Build the greeting that was surveyed.", &after("stage1")];
    let site = Site::new(
        cli,
        [
            answers("survey", &["Survey what there is"], parts::looked("There is check.sh.")),
            answers("build", &build, cannot),
            answers("prove", &["Prove that the greeting works."], parts::verified()),
        ],
    );
    let file = site.home.folder().join("stages.toml");
    fs::write(&file, STAGES).unwrap();
    let outcome = site.run("pipeline", &["--stages", file.to_str().unwrap(), "greet people"]);
    assert_eq!(outcome.code, Some(1), "{outcome:#?} {:#?}", site.server.seen());
    assert!(outcome.stdout.contains(reason), "{outcome:#?}");
    let document = site.document("pipeline");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("failed")));
    assert_eq!(ended_in(&document), "stage:build", "{document:#}");
    assert!(document["error"].as_str().unwrap().contains(reason), "{document:#}");
    assert_eq!(document["stage_results"]["survey"]["summary"], "There is check.sh.");
    site.assert_left_alone();
    assert_eq!(site.server.turns("survey").len(), 1);
    assert_eq!(site.server.turns("build").len(), 1);

    site.server.add(works("build", &build, parts::RIGHT, parts::work("greet.sh greets")));
    let outcome = site.resume();
    assert_eq!(outcome.code, Some(0), "{outcome:#?} {:#?}", site.server.seen());
    let document = site.document("pipeline");
    assert_eq!((&document["active"], &document["run_outcome"]), (&json!(false), &json!("finish")));
    assert_eq!(document["current_phase"], "complete");
    let results = &document["stage_results"];
    assert_eq!(results["survey"]["summary"], "There is check.sh.");
    assert_eq!(results["build"]["done"], true);
    assert_eq!(results["prove"]["passed"], true);
    assert_eq!(site.closed(), ["failed", "complete"]);
    // The first stage was not asked again.
    assert_eq!(site.server.turns("survey").len(), 1);
    let finished = site.steps("step_finished");
    assert_eq!(finished.iter().filter(|step| *step == "stage1").count(), 1);
    assert_eq!(finished.last().unwrap(), "stage3");
    assert_eq!(site.server.turns("prove").len(), 1);
    assert_eq!(site.commits(), ["greet.sh greets"]);
    assert_eq!(site.on_branch("greet.sh"), "echo \"Hello, ${1:-world}!\"\n");
    site.assert_left_alone();
}

/// The phase a document that has ended was in.
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
fn codex_pipeline_goes_on_at_the_stage_that_failed() {
    offline(&[AgentCli::Codex], || a_stage_fails_and_is_gone_on_with(AgentCli::Codex));
}

#[test]
fn claude_pipeline_goes_on_at_the_stage_that_failed() {
    offline(&[AgentCli::Claude], || a_stage_fails_and_is_gone_on_with(AgentCli::Claude));
}

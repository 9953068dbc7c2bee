//! modes.md 2.1 and 2.7 for the pipeline, whose phases are its stages.

use omx_kernel::{Mode, RefusalCode};

use crate::support::{SessionWorld, assert_ended};

const STAGES: &str = r#","stages":[{"name":"plan","role":"planner"},{"name":"build","role":"executor"},{"name":"test","role":"test-engineer"}]"#;
const PHASES: [&str; 3] = ["stage:plan", "stage:build", "stage:test"];

fn result_of(phase: &str) -> String {
    let name = phase.strip_prefix("stage:").unwrap();
    format!(r#","stage_results":{{"{name}":{{"summary":"done"}}}}"#)
}

#[test]
fn modes_2_1_a_pipeline_only_moves_to_the_next_stage_and_only_with_a_result() {
    for (at, from) in PHASES.iter().enumerate() {
        for (wanted, to) in PHASES.iter().chain(&["complete"]).enumerate() {
            for evidence in [String::new(), result_of(from), result_of("stage:other")] {
                let input = format!(r#"{{"current_phase":"{to}"{evidence}}}"#);
                let result =
                    SessionWorld::live(Mode::Pipeline, from, STAGES).plan(Mode::Pipeline, &input);
                let allowed = wanted == at || (wanted == at + 1 && evidence == result_of(from));
                assert_eq!(result.is_ok(), allowed, "{from} {input}: {result:?}");
                if let Err(refusal) = result {
                    assert_eq!(refusal.code, RefusalCode::IllegalTransition);
                }
            }
        }
    }
}

#[test]
fn modes_2_1_a_pipeline_may_fail_be_cancelled_or_blocked_at_any_stage() {
    for from in PHASES {
        for (word, lifecycle) in
            [("failed", "failed"), ("cancelled", "cancelled"), ("blocked_on_user", "blocked")]
        {
            let mut world = SessionWorld::live(Mode::Pipeline, from, STAGES);
            let input = format!(r#"{{"run_outcome":"{word}"}}"#);
            assert_ended(&world.write(Mode::Pipeline, &input), word, lifecycle);
        }
    }
}

#[test]
fn modes_2_7_a_failed_or_empty_result_stops_the_pipeline() {
    for bad in [
        r#"{"plan":{"status":"failed"}}"#,
        r#"{"plan":null}"#,
        r#"{"plan":""}"#,
        r#"{"plan":{}}"#,
        r#"{"plan":false}"#,
    ] {
        let mut world = SessionWorld::live(Mode::Pipeline, "stage:plan", STAGES);
        let input = format!(r#"{{"current_phase":"stage:build","stage_results":{bad}}}"#);
        world.write_refused(Mode::Pipeline, RefusalCode::IllegalTransition, &input);
    }
}

#[test]
fn modes_2_7_a_resume_continues_at_the_failed_stage() {
    let mut world = SessionWorld::live(Mode::Pipeline, "stage:build", STAGES);
    world.write(Mode::Pipeline, r#"{"current_phase":"failed","error":"no compiler"}"#);
    assert_eq!(world.get(Mode::Pipeline).phase(), Some("failed"));
    let document = world.write(Mode::Pipeline, r#"{"resume":true}"#);
    assert_eq!(document.phase(), Some("stage:build"));
    assert!(document.is_active());
}

#[test]
fn modes_2_7_a_start_names_the_stages_and_enters_the_first() {
    let document =
        SessionWorld::new().write(Mode::Pipeline, &format!(r#"{{"active":true{STAGES}}}"#));
    assert_eq!(document.phase(), Some("stage:plan"));
    let names = r#"{"active":true,"stages":["a","stage:b"],"current_phase":"stage:b"}"#;
    assert_eq!(SessionWorld::new().write(Mode::Pipeline, names).phase(), Some("stage:b"));
    let unknown = format!(r#"{{"active":true,"current_phase":"stage:deploy"{STAGES}}}"#);
    let refusal =
        SessionWorld::new().write_refused(Mode::Pipeline, RefusalCode::InvalidPhase, &unknown);
    assert!(PHASES.iter().all(|phase| refusal.contains(phase)), "{refusal}");
    for bad in [r#"[1]"#, r#"[{"role":"x"}]"#, r#"[""]"#] {
        let input = format!(r#"{{"active":true,"stages":{bad}}}"#);
        SessionWorld::new().write_refused(Mode::Pipeline, RefusalCode::InvalidInput, &input);
    }
}

#[test]
fn modes_2_7_autopilot_as_a_pipeline_has_its_bare_phase_names() {
    let mut world = SessionWorld::new();
    let start = r#"{"active":true,"stages":["ralplan","ralph","code-review"]}"#;
    assert_eq!(world.write(Mode::Pipeline, start).phase(), Some("ralplan"));
    let next = r#"{"current_phase":"ralph","stage_results":{"ralplan":"p.md"}}"#;
    assert_eq!(world.write(Mode::Pipeline, next).phase(), Some("ralph"));
}

/// state.md 2.3a: a new run inherits nothing, so neither does it inherit stages.
#[test]
fn state_2_3a_a_new_pipeline_does_not_inherit_the_stages_of_the_finished_one() {
    let mut world = SessionWorld::live(Mode::Pipeline, "stage:test", STAGES);
    world.write(
        Mode::Pipeline,
        &format!(r#"{{"current_phase":"complete"{}}}"#, result_of("stage:test")),
    );
    let document = world.write(Mode::Pipeline, r#"{"active":true,"current_phase":"stage:deploy"}"#);
    assert_eq!(document.phase(), Some("stage:deploy"));
    assert_eq!(document.get("stages"), None);
}

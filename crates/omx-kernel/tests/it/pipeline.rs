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

#[test]
fn modes_2_7_autopilot_as_a_pipeline_may_fail_at_any_of_its_bare_phases() {
    let stages = r#","stages":["ralplan","ralph","code-review"]"#;
    for from in Mode::Autopilot.spec().phases {
        let mut world = SessionWorld::live(Mode::Pipeline, from, stages);
        let document = world.write(Mode::Pipeline, r#"{"current_phase":"failed","error":"x"}"#);
        assert_ended(&document, "failed", "failed");
        assert_eq!(document.phase(), Some("failed"));
        let document = world.write(Mode::Pipeline, r#"{"resume":true}"#);
        assert_eq!(document.phase(), Some(*from));
    }
}

const OPEN_REVIEW: &str = r#""review_verdict":{"recommendation":"REQUEST CHANGES","architectural_status":"CLEAR","findings":["leak"]},"return_to_ralplan_reason":"leak","handoff_artifacts":{"code_review":{"findings":["leak"]}}"#;

#[test]
fn modes_2_7_stage_results_merge_by_stage() {
    let mut world = SessionWorld::live(Mode::Pipeline, "stage:plan", STAGES);
    world.write(
        Mode::Pipeline,
        &format!(r#"{{"current_phase":"stage:build"{}}}"#, result_of(PHASES[0])),
    );
    world.write(
        Mode::Pipeline,
        &format!(r#"{{"current_phase":"stage:test"{}}}"#, result_of(PHASES[1])),
    );
    let results = world.get(Mode::Pipeline).get("stage_results").unwrap().clone();
    assert!(results.get("plan").is_some() && results.get("build").is_some());
}

#[test]
fn modes_2_7_in_the_preset_autopilot_a_review_that_is_not_clean_goes_back() {
    let mut world = SessionWorld::new();
    let start = r#"{"active":true,"stages":["ralplan","ralph","code-review"]}"#;
    let document = world.write(Mode::Pipeline, start);
    assert_eq!(document.get_u64("iteration"), Some(1));
    assert_eq!(document.get_u64("max_iterations"), Some(10));
    assert_eq!(document.get_u64("review_cycle"), Some(0));
    let handoffs = document.get("handoff_artifacts").unwrap();
    assert!(handoffs.get("ralplan").is_some() && handoffs.get("code_review").is_some());
    for name in ["review_verdict", "return_to_ralplan_reason"] {
        assert!(document.get(name).is_some_and(omx_kernel::Value::is_null), "{name}");
    }
    for (cycle, title) in ["a", "b"].iter().enumerate() {
        for (phase, stage) in [("ralph", "ralplan"), ("code-review", "ralph")] {
            let bare = format!(r#"{{"current_phase":"{phase}"}}"#);
            world.write_refused(Mode::Pipeline, RefusalCode::IllegalTransition, &bare);
            world.write(
                Mode::Pipeline,
                &format!(
                    r#"{{"current_phase":"{phase}","stage_results":{{"{stage}":{{"n":1}}}}}}"#
                ),
            );
        }
        let open = OPEN_REVIEW.replace("leak", title);
        let done = format!(
            r#"{{"current_phase":"complete",{open},"stage_results":{{"code-review":{{"n":1}}}}}}"#
        );
        let refusal = world.write_refused(Mode::Pipeline, RefusalCode::IllegalTransition, &done);
        assert!(refusal.contains("returns to ralplan"), "{refusal}");
        let bare = r#"{"current_phase":"ralplan"}"#;
        world.write_refused(Mode::Pipeline, RefusalCode::IllegalTransition, bare);
        let back = format!(r#"{{"current_phase":"ralplan",{open}}}"#);
        let document = world.write(Mode::Pipeline, &back);
        assert_eq!(document.get_u64("review_cycle"), Some(cycle as u64 + 1));
        assert_eq!(document.get_u64("iteration"), Some(cycle as u64 + 2));
        assert_eq!(document.get("stage_results").unwrap().as_json(), "{}");
    }
    // Only a clean review completes it.
    for (phase, stage) in [("ralph", "ralplan"), ("code-review", "ralph")] {
        let results = format!(r#"{{"{stage}":{{"n":1}}}}"#);
        let next = format!(r#"{{"current_phase":"{phase}","stage_results":{results}}}"#);
        world.write(Mode::Pipeline, &next);
    }
    let done = |more: &str| {
        format!(
            r#"{{"current_phase":"complete","return_to_ralplan_reason":null{more},"stage_results":{{"code-review":{{"n":1}}}}}}"#
        )
    };
    let refusal = world.write_refused(Mode::Pipeline, RefusalCode::IllegalTransition, &done(""));
    assert!(refusal.contains("review_verdict"), "{refusal}");
    let clean = r#","review_verdict":{"recommendation":"APPROVE","architectural_status":"CLEAR","clean":true}"#;
    let document = world.write(Mode::Pipeline, &done(clean));
    assert_ended(&document, "finish", "finished");
    let mut other = SessionWorld::live(Mode::Pipeline, "stage:test", STAGES);
    let back = format!(r#"{{"current_phase":"stage:plan",{OPEN_REVIEW}}}"#);
    other.write_refused(Mode::Pipeline, RefusalCode::IllegalTransition, &back);
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

//! modes.md 3: which modes are linked, which exclude each other, and what one hands over
//! to the next.

use omx_kernel::links::{dependents, is_stage, parent};
use omx_kernel::start::{StartRequest, plan_start};
use omx_kernel::write::WriteContext;
use omx_kernel::{Dialect, Mode, RefusalCode};

use crate::support::{SessionWorld, assert_ended, json};

/// parent, dependent, the parent's field, the dependent's field
const FLAGS: [(Mode, Mode, &str, &str); 3] = [
    (Mode::Ralph, Mode::Ultrawork, "linked_ultrawork", "linked_to_ralph"),
    (Mode::Ralph, Mode::Ecomode, "linked_ecomode", "linked_to_ralph"),
    (Mode::Ralph, Mode::Team, "linked_team", "linked_ralph"),
];

const DRIVERS: [Mode; 8] = [
    Mode::Autopilot,
    Mode::Ralph,
    Mode::Ralplan,
    Mode::Ultraqa,
    Mode::Pipeline,
    Mode::Team,
    Mode::Swarm,
    Mode::Ultrapilot,
];

fn first(mode: Mode) -> &'static str {
    mode.spec().phases.first().copied().unwrap_or("stage:1")
}

#[test]
fn modes_3_1_two_documents_are_linked_when_either_names_the_other() {
    for (above, below, above_field, below_field) in FLAGS {
        for (by_above, by_below) in [(true, false), (false, true), (true, true), (false, false)] {
            let name = |says: bool, field: &str| {
                if says { format!(r#","{field}":true"#) } else { String::new() }
            };
            let mut world = SessionWorld::live(above, first(above), &name(by_above, above_field));
            world.run(below, first(below), &name(by_below, below_field));
            let linked = by_above || by_below;
            let documents = &world.snapshot.documents;
            assert_eq!(dependents(documents, above), if linked { vec![below] } else { vec![] });
            assert_eq!(parent(documents, below), linked.then_some(above));
        }
    }
}

#[test]
fn modes_3_1_modes_started_by_autopilot_name_it() {
    for below in [Mode::Ralplan, Mode::Ralph, Mode::CodeReview, Mode::Ultraqa] {
        let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
        world.run(below, first(below), r#","linked_to":"autopilot""#);
        assert_eq!(dependents(&world.snapshot.documents, Mode::Autopilot), [below]);
        assert_eq!(parent(&world.snapshot.documents, below), Some(Mode::Autopilot));
        world.run(below, first(below), r#","linked_to":"ralph""#);
        assert_eq!(dependents(&world.snapshot.documents, Mode::Autopilot), []);
    }
}

#[test]
fn modes_3_1_an_ended_document_is_not_linked() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", r#","linked_ultrawork":true"#);
    world.put(Mode::Ultrawork, r#"{"active":false,"linked_to_ralph":true}"#);
    assert_eq!(dependents(&world.snapshot.documents, Mode::Ralph), []);
    world.put(Mode::Ralph, r#"{"active":false}"#);
    world.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    assert_eq!(parent(&world.snapshot.documents, Mode::Ultrawork), None);
}

#[test]
fn modes_3_1_omx_writes_both_sides_whichever_was_named() {
    for (above, below, above_field, below_field) in FLAGS {
        for (writer, field) in [(above, above_field), (below, below_field)] {
            let mut world = SessionWorld::live(above, first(above), "");
            world.run(below, first(below), "");
            let plan = world.try_write(writer, &format!(r#"{{"{field}":true}}"#)).unwrap();
            assert!(world.get(above).is_true(above_field), "{field}");
            assert!(world.get(below).is_true(below_field), "{field}");
            let written_order: Vec<Mode> = plan.writes.iter().map(|(mode, _)| *mode).collect();
            assert_eq!(written_order, [below, above], "dependents first");
            assert!(plan.writes.iter().all(|(_, document)| document.revision() == 2));
        }
    }
}

#[test]
fn modes_3_1_omx_writes_both_sides_at_a_start() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.write(Mode::Ultrawork, r#"{"active":true,"linked_to_ralph":true}"#);
    assert!(world.get(Mode::Ralph).is_true("linked_ultrawork"));
    let mut world = SessionWorld::live(Mode::Ralph, "executing", r#","linked_ecomode":true"#);
    let document = world.write(Mode::Ecomode, r#"{"active":true}"#);
    assert!(document.is_true("linked_to_ralph"), "ralph had named it before");
    let mut world = SessionWorld::live(Mode::Ultrawork, "executing", "");
    world.write(Mode::Ralph, r#"{"active":true,"linked_ultrawork":true}"#);
    assert!(world.get(Mode::Ultrawork).is_true("linked_to_ralph"));
}

#[test]
fn modes_3_1_a_link_is_removed_on_both_sides() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", r#","linked_ultrawork":true"#);
    world.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    world.write(Mode::Ralph, r#"{"linked_ultrawork":false}"#);
    assert!(!world.get(Mode::Ultrawork).is_true("linked_to_ralph"));
    assert_eq!(dependents(&world.snapshot.documents, Mode::Ralph), []);
}

#[test]
fn modes_3_1_a_write_without_link_fields_changes_no_other_document() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", r#","linked_ultrawork":true"#);
    world.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    world.run(Mode::Ecomode, "executing", "");
    let plan = world.try_write(Mode::Ralph, r#"{"iteration":1}"#).unwrap();
    assert_eq!(plan.writes.len(), 1);
    assert_eq!(world.get(Mode::Ultrawork).revision(), 1);
}

#[test]
fn modes_3_2_drivers_exclude_each_other_in_one_session() {
    for running in DRIVERS {
        for starting in DRIVERS.into_iter().filter(|mode| *mode != running) {
            if running == Mode::Autopilot && is_stage(starting) {
                continue;
            }
            let mut world = SessionWorld::live(running, first(running), "");
            for input in [r#"{"active":true}"#, r#"{"start":true}"#] {
                let refusal = world.write_refused(starting, RefusalCode::ModeConflict, input);
                assert!(refusal.contains(&format!("{} is running", running.name())), "{refusal}");
                let hint = format!("omx cancel --mode {}", running.name());
                assert!(refusal.contains(&hint), "{refusal}");
            }
            world.cancel(omx_kernel::cancel::CancelTarget::Everything);
            world.write(starting, r#"{"active":true}"#);
        }
    }
}

#[test]
fn modes_3_2_a_stage_that_starts_inside_autopilot_is_linked_without_asking() {
    for stage in [Mode::Ralplan, Mode::Ralph, Mode::CodeReview, Mode::Ultraqa] {
        for input in [r#"{"active":true}"#, r#"{"active":true,"start":true}"#] {
            let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
            let document = world.write(stage, input);
            assert_eq!(document.get_str("linked_to"), Some("autopilot"), "{stage:?}");
            assert_eq!(parent(&world.snapshot.documents, stage), Some(Mode::Autopilot));
            world.write(Mode::Autopilot, r#"{"run_outcome":"failed"}"#);
            assert!(world.active().is_empty(), "{stage:?} ends with autopilot");
        }
        // Nothing is linked outside of it.
        assert_eq!(SessionWorld::new().write(stage, r#"{"active":true}"#).get("linked_to"), None);
    }
    // A write to a stage that runs already links nothing.
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    world.run(Mode::CodeReview, "reviewing", "");
    assert_eq!(world.write(Mode::CodeReview, r#"{"x":1}"#).get("linked_to"), None);
}

#[test]
fn modes_3_2_a_stage_that_the_person_calls_for_is_refused_with_the_linked_way() {
    for stage in [Mode::Ralplan, Mode::Ralph, Mode::Ultraqa] {
        let world = SessionWorld::live(Mode::Autopilot, "ralph", "");
        let start = StartRequest { mode: stage, companions: &[], task: "x", context_path: None };
        let context = WriteContext {
            now: world.now,
            limits: &world.limits,
            facts: &world.facts,
            dialect: Dialect::OMX,
        };
        let refusal = plan_start(&world.snapshot, &start, context).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::ModeConflict);
        for part in
            ["autopilot is running", "omx cancel --mode autopilot", r#""linked_to": "autopilot""#]
        {
            assert!(refusal.message.contains(part), "{part}: {}", refusal.message);
        }
    }
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    let refusal = world.write_refused(Mode::Team, RefusalCode::ModeConflict, r#"{"active":true}"#);
    assert!(!refusal.contains("linked_to"), "a team is no stage: {refusal}");
}

#[test]
fn modes_3_2_a_resume_conflicts_like_a_start() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.write(Mode::Ralph, r#"{"run_outcome":"blocked_on_user"}"#);
    world.run(Mode::Team, "team-exec", "");
    world.write_refused(Mode::Ralph, RefusalCode::ModeConflict, r#"{"resume":true}"#);
}

#[test]
fn modes_3_2_ultrawork_ecomode_and_code_review_run_alongside_any_mode() {
    for companion in [Mode::Ultrawork, Mode::Ecomode, Mode::CodeReview] {
        for other in Mode::ALL.into_iter().filter(|mode| *mode != companion) {
            SessionWorld::live(other, first(other), "").write(companion, r#"{"active":true}"#);
            SessionWorld::live(companion, first(companion), "").write(other, r#"{"active":true}"#);
        }
    }
}

#[test]
fn modes_3_2_linked_drivers_run_together() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    world.write(Mode::Ralph, r#"{"active":true,"linked_to":"autopilot"}"#);
    world.write(Mode::Team, r#"{"active":true,"linked_ralph":true}"#);
    world.write(Mode::Ultraqa, r#"{"active":true,"linked_to":"autopilot"}"#);
    assert_eq!(world.active(), ["autopilot", "ralph", "ultraqa", "team"]);
    world.write_refused(Mode::Swarm, RefusalCode::ModeConflict, r#"{"active":true}"#);
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.write_refused(
        Mode::Team,
        RefusalCode::ModeConflict,
        r#"{"active":true,"linked_ralph":false}"#,
    );
}

#[test]
fn modes_3_2_an_ended_or_unnamed_driver_does_not_count_as_linked() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.put(Mode::Autopilot, r#"{"active":false,"run_outcome":"failed"}"#);
    let input = r#"{"active":true,"linked_to":"autopilot"}"#;
    world.write_refused(Mode::Ultraqa, RefusalCode::ModeConflict, input);
}

#[test]
fn modes_3_2_a_write_to_a_running_driver_is_never_a_conflict() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.run(Mode::Team, "team-exec", "");
    world.write(Mode::Ralph, r#"{"active":true,"iteration":1}"#);
}

const AGREED: &str = r#","consensus":{"critic":"APPROVE","architect":"APPROVE"},"plan_path":"p.md","test_spec_path":"t.md""#;

#[test]
fn modes_3_3_starting_ralph_completes_a_ralplan_that_has_its_evidence() {
    let mut world =
        SessionWorld::live(Mode::Ralplan, "critic-review", AGREED).files(&["p.md", "t.md"]);
    let plan = world.try_write(Mode::Ralph, r#"{"active":true}"#).unwrap();
    let written_order: Vec<Mode> = plan.writes.iter().map(|(mode, _)| *mode).collect();
    assert_eq!(written_order, [Mode::Ralplan, Mode::Ralph]);
    let ralplan = world.get(Mode::Ralplan);
    assert_ended(ralplan, "finish", "finished");
    assert_eq!(ralplan.phase(), Some("complete"));
    assert!(ralplan.get_str("completion_note").is_some(), "{}", json(ralplan));
    assert_eq!(ralplan.get_str("plan_path"), Some("p.md"));
    assert_eq!(ralplan.revision(), 2);
    assert_eq!(world.active(), ["ralph"]);
}

#[test]
fn modes_3_3_a_handover_inside_autopilot_also_completes_the_ralplan() {
    let linked = format!(r#"{AGREED},"linked_to":"autopilot""#);
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "").files(&["p.md", "t.md"]);
    world.run(Mode::Ralplan, "critic-review", &linked);
    world.write(Mode::Ralph, r#"{"active":true,"linked_to":"autopilot"}"#);
    assert_ended(world.get(Mode::Ralplan), "finish", "finished");
    assert_eq!(world.active(), ["autopilot", "ralph"]);
}

#[test]
fn modes_3_3_without_its_evidence_a_ralplan_is_not_handed_over() {
    let mut world = SessionWorld::live(Mode::Ralplan, "critic-review", AGREED).files(&["p.md"]);
    world.write_refused(Mode::Ralph, RefusalCode::ModeConflict, r#"{"active":true}"#);
    let mut world = SessionWorld::live(Mode::Ralplan, "critic-review", "").files(&["p.md", "t.md"]);
    world.write_refused(Mode::Ralph, RefusalCode::ModeConflict, r#"{"active":true}"#);
    let mut world =
        SessionWorld::live(Mode::Ralplan, "critic-review", AGREED).files(&["p.md", "t.md"]);
    world.write_refused(Mode::Team, RefusalCode::ModeConflict, r#"{"active":true}"#);
}

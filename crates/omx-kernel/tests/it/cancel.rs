//! cancel.md 1 to 3 and 6: what a cancel ends, in which order, what it keeps, and its
//! messages.

use omx_kernel::cancel::{self, CancelTarget, OpenModes, ScopeChoice, choose_scope};
use omx_kernel::{Dialect, Mode, RefusalCode, RunId, message};

use crate::support::{NOW, SessionWorld, assert_ended, json, session};

const ORDER: [&str; 11] = [
    "autopilot",
    "ralph",
    "ultrawork",
    "ecomode",
    "ultraqa",
    "swarm",
    "ultrapilot",
    "pipeline",
    "team",
    "ralplan",
    "code-review",
];

fn first(mode: Mode) -> &'static str {
    mode.spec().phases.first().copied().unwrap_or("stage:1")
}

fn everything() -> SessionWorld {
    let mut world = SessionWorld::new();
    for mode in Mode::ALL {
        world.run(mode, first(mode), "");
    }
    world
}

const RUN: &str = "01a1e45f-7f1e-72e8-9d61-bc9b4b19b908";

fn cancelled(
    world: &mut SessionWorld,
    target: CancelTarget,
) -> Vec<(&'static str, Option<&'static str>)> {
    let plan = world.cancel(target);
    plan.entries.iter().map(|entry| (entry.mode.name(), entry.linked_to.map(Mode::name))).collect()
}

fn open(active: &[Mode], waiting: &[Mode]) -> OpenModes {
    OpenModes { active: active.to_vec(), waiting: waiting.to_vec() }
}

fn chosen(sessions: &[(&str, OpenModes)], target: CancelTarget) -> ScopeChoice {
    choose_scope(sessions.iter().map(|(id, modes)| (session(id), modes.clone())).collect(), target)
}

#[test]
fn cancel_1_2_without_a_session_the_active_modes_determine_the_scope() {
    let selected = |sessions: &[(&str, OpenModes)]| chosen(sessions, CancelTarget::Everything);
    let (none, ralph) = (open(&[], &[]), open(&[Mode::Ralph], &[]));
    assert_eq!(selected(&[]), ScopeChoice::Compatibility);
    assert_eq!(selected(&[("a", none.clone()), ("b", none.clone())]), ScopeChoice::Compatibility);
    let only = selected(&[("a", none), ("b", ralph.clone())]);
    assert_eq!(only, ScopeChoice::Only(session("b")));
    let both = [("a", ralph), ("b", open(&[Mode::Team], &[]))];
    let listed = both.clone().map(|(id, modes)| (session(id), modes)).into();
    assert_eq!(selected(&both), ScopeChoice::Ambiguous(listed));
}

#[test]
fn cancel_1_2_a_named_mode_chooses_the_session_that_runs_it() {
    let sessions = [
        ("a", open(&[Mode::Ralph, Mode::Ultrawork], &[])),
        ("b", open(&[Mode::Autopilot], &[Mode::Team])),
        ("c", open(&[Mode::Autopilot], &[])),
    ];
    let of = |mode| chosen(&sessions, CancelTarget::Mode(mode));
    assert_eq!(of(Mode::Ralph), ScopeChoice::Only(session("a")));
    assert_eq!(of(Mode::Team), ScopeChoice::Only(session("b")));
    assert_eq!(of(Mode::Swarm), ScopeChoice::Compatibility);
    let ScopeChoice::Ambiguous(listed) = of(Mode::Autopilot) else { panic!("one was chosen") };
    assert_eq!(listed.into_keys().collect::<Vec<_>>(), [session("b"), session("c")]);
}

#[test]
fn cancel_1_2_what_works_comes_before_what_waits() {
    let waiting = |mode| open(&[], &[mode]);
    let old = [("a", waiting(Mode::Ralph)), ("b", waiting(Mode::Autopilot))];
    let both = |target| chosen(&old, target);
    assert!(matches!(both(CancelTarget::Everything), ScopeChoice::Ambiguous(_)));
    assert_eq!(both(CancelTarget::Mode(Mode::Ralph)), ScopeChoice::Only(session("a")));
    let mut sessions = old.to_vec();
    sessions.push(("c", open(&[Mode::Ralph], &[])));
    let now = chosen(&sessions, CancelTarget::Everything);
    assert_eq!(now, ScopeChoice::Only(session("c")));
    let one = chosen(&old[..1], CancelTarget::Everything);
    assert_eq!(one, ScopeChoice::Only(session("a")));
}

#[test]
fn cancel_1_4_stale_modes_are_cancelled_like_live_ones() {
    let mut world = everything();
    world.advance(30 * 24 * 3_600_000);
    assert!(Mode::ALL.iter().all(|mode| world.snapshot.is_stale(*mode, world.now)));
    assert_eq!(world.cancel(CancelTarget::Everything).entries.len(), 11);
    assert!(world.active().is_empty());
}

#[test]
fn cancel_2_1_one_cancel_ends_all_active_modes_in_this_order() {
    let names: Vec<&str> = cancelled(&mut everything(), CancelTarget::Everything)
        .iter()
        .map(|entry| entry.0)
        .collect();
    assert_eq!(names, ORDER);
}

#[test]
fn cancel_2_1_the_order_holds_for_every_pair_of_modes() {
    for (index, one) in ORDER.iter().enumerate() {
        for other in &ORDER[index + 1..] {
            let mut world = SessionWorld::new();
            for name in [other, one] {
                let mode = Mode::parse(name).unwrap();
                world.run(mode, first(mode), "");
            }
            let names = cancelled(&mut world, CancelTarget::Everything);
            assert_eq!(names, [(*one, None), (*other, None)]);
        }
    }
}

#[test]
fn cancel_2_2_dependents_are_written_before_their_parents() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    world.run(Mode::Ralph, "executing", r#","linked_to":"autopilot","linked_ecomode":true"#);
    world.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    world.run(Mode::Ecomode, "executing", "");
    world.run(Mode::Team, "team-exec", r#","linked_ralph":true"#);
    world.run(Mode::Ultraqa, "qa", r#","linked_to":"autopilot""#);
    world.run(Mode::CodeReview, "reviewing", "");
    assert_eq!(
        cancelled(&mut world, CancelTarget::Everything),
        [
            ("team", Some("ralph")),
            ("ultrawork", Some("ralph")),
            ("ecomode", Some("ralph")),
            ("ralph", Some("autopilot")),
            ("ultraqa", Some("autopilot")),
            ("autopilot", None),
            ("code-review", None),
        ]
    );
}

#[test]
fn cancel_2_2_an_interrupted_cancel_completes_when_repeated() {
    let mut start = SessionWorld::live(Mode::Autopilot, "ralph", "");
    start.run(Mode::Ralph, "executing", r#","linked_to":"autopilot""#);
    start.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    let plan = start.clone().cancel(CancelTarget::Everything);
    for cut in 0..=plan.entries.len() {
        let mut world = start.clone();
        for entry in &plan.entries[..cut] {
            world.snapshot.documents.insert(entry.mode, entry.document.clone());
        }
        assert_eq!(world.cancel(CancelTarget::Everything).entries.len(), plan.entries.len() - cut);
        assert!(world.active().is_empty());
    }
}

#[test]
fn cancel_2_3_an_unlinked_ultrawork_or_ecomode_is_its_own_entry() {
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.run(Mode::Ultrawork, "executing", "");
    world.run(Mode::Ecomode, "executing", r#","linked_to_ralph":true"#);
    assert_eq!(
        cancelled(&mut world, CancelTarget::Everything),
        [("ecomode", Some("ralph")), ("ralph", None), ("ultrawork", None)]
    );
}

#[test]
fn cancel_2_4_one_mode_is_cancelled_with_its_dependents_and_nothing_else() {
    for mode in Mode::ALL {
        let mut world = everything();
        assert_eq!(cancelled(&mut world, CancelTarget::Mode(mode)), [(mode.name(), None)]);
        assert_eq!(world.active().len(), 10);
    }
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    world.run(Mode::Ralph, "executing", r#","linked_to":"autopilot","linked_ultrawork":true"#);
    world.run(Mode::Ultrawork, "executing", "");
    world.run(Mode::CodeReview, "reviewing", "");
    let names = cancelled(&mut world, CancelTarget::Mode(Mode::Ralph));
    assert_eq!(names, [("ultrawork", Some("ralph")), ("ralph", None)]);
    assert_eq!(world.active(), ["autopilot", "code-review"]);
}

#[test]
fn cancel_2_4_a_companion_linked_to_an_active_ralph_is_refused() {
    for (mode, title, field) in [
        (Mode::Ultrawork, "Ultrawork", "linked_ultrawork"),
        (Mode::Ecomode, "Ecomode", "linked_ecomode"),
    ] {
        let ralph_says = format!(r#","{field}":true"#);
        for (on_ralph, on_it) in [(ralph_says.as_str(), ""), ("", r#","linked_to_ralph":true"#)] {
            let mut world = SessionWorld::live(Mode::Ralph, "executing", on_ralph);
            world.run(mode, "executing", on_it);
            let plan = |dialect| {
                cancel::plan_cancel(&world.snapshot, CancelTarget::Mode(mode), dialect, world.now)
            };
            let refusal = plan(Dialect::OMX).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::LinkedMode);
            let sentence = format!("{title} is linked to Ralph. Use /cancel to cancel both.");
            assert_eq!(refusal.message, sentence);
            let sentence = sentence.replace("/cancel", "/oh-my-claudecode:cancel");
            assert_eq!(plan(Dialect::OMC).unwrap_err().message, sentence);
            world.put(Mode::Ralph, r#"{"active":false,"linked_ultrawork":true}"#);
            assert_eq!(cancelled(&mut world, CancelTarget::Mode(mode)), [(mode.name(), None)]);
        }
    }
}

#[test]
fn cancel_2_5_a_linked_team_ends_before_its_ralph_whichever_was_named() {
    for target in
        [CancelTarget::Mode(Mode::Team), CancelTarget::Mode(Mode::Ralph), CancelTarget::Everything]
    {
        for (on_ralph, on_team) in [(r#","linked_team":true"#, ""), ("", r#","linked_ralph":true"#)]
        {
            let mut world = SessionWorld::live(Mode::Ralph, "executing", on_ralph);
            world.run(Mode::Team, "team-exec", on_team);
            let names = cancelled(&mut world, target);
            assert_eq!(names, [("team", Some("ralph")), ("ralph", None)]);
            let ralph = world.get(Mode::Ralph);
            assert_eq!(ralph.get_str("linked_team_terminal_phase"), Some("cancelled"));
            assert_eq!(ralph.get_str("linked_team_terminal_at"), Some(NOW));
            assert_ended(ralph, "cancelled", "cancelled");
        }
    }
}

#[test]
fn cancel_3_1_every_cancelled_mode_meets_its_postconditions_and_keeps_its_document() {
    let mut world = everything();
    world.advance(1_000);
    world.cancel(CancelTarget::Everything);
    assert_eq!(world.snapshot.documents.len(), 11);
    for mode in Mode::ALL {
        let document = world.get(mode);
        assert_ended(document, "cancelled", "cancelled");
        assert_eq!(document.get_str("completed_at"), Some("2026-11-15T12:00:01.000Z"));
        assert_eq!(document.get_str("updated_at"), Some("2026-11-15T12:00:01.000Z"));
        assert_eq!(document.revision(), 2);
        if mode != Mode::Autopilot {
            assert_eq!(document.phase(), Some("cancelled"), "{}", mode.name());
        }
    }
}

#[test]
fn cancel_3_2_autopilot_keeps_phase_handoffs_verdict_and_counters() {
    let kept = r#","iteration":3,"review_cycle":2,"handoff_artifacts":{"ralplan":{"plan":"p"}},"review_verdict":{"clean":false},"return_to_ralplan_reason":"r""#;
    for phase in ["ralplan", "ralph", "code-review"] {
        let mut world = SessionWorld::live(Mode::Autopilot, phase, kept);
        let plan = world.cancel(CancelTarget::Everything);
        assert!(plan.entries[0].preserved);
        let document = world.get(Mode::Autopilot);
        assert_ended(document, "cancelled", "cancelled");
        assert_eq!(document.phase(), Some(phase));
        assert!(json(document).contains(kept), "{}", json(document));
        let resumed = world.write(Mode::Autopilot, r#"{"resume":true}"#);
        assert!(json(&resumed).contains(kept));
    }
}

#[test]
fn cancel_3_2_ralplan_keeps_its_plan_path_and_only_these_two_modes_are_preserved() {
    let mut world = everything();
    world.run(Mode::Ralplan, "revise", r#","plan_path":"p.md""#);
    for entry in world.cancel(CancelTarget::Everything).entries {
        let kept = matches!(entry.mode, Mode::Autopilot | Mode::Ralplan);
        assert_eq!(entry.preserved, kept, "{}", entry.mode.name());
    }
    assert_eq!(world.get(Mode::Ralplan).get_str("plan_path"), Some("p.md"));
    assert_eq!(world.write(Mode::Ralplan, r#"{"resume":true}"#).phase(), Some("revise"));
}

#[test]
fn cancel_3_3_ralph_takes_the_ending_of_its_linked_team() {
    let table = [
        ("complete", "finish", "finished", "complete"),
        ("failed", "failed", "failed", "failed"),
        ("cancelled", "cancelled", "cancelled", "cancelled"),
        ("team-exec", "blocked_on_user", "blocked", "cancelled"),
    ];
    for (phase, outcome, lifecycle, taken) in table {
        let mut world = SessionWorld::live(Mode::Ralph, "executing", r#","linked_team":true"#);
        world.put(Mode::Team, &format!(r#"{{"active":false,"current_phase":"{phase}","run_outcome":"{outcome}","lifecycle_outcome":"{lifecycle}","completed_at":"2026-11-15T11:30:00.000Z"}}"#));
        world.cancel(CancelTarget::Everything);
        let ralph = world.get(Mode::Ralph);
        let took = matches!(outcome, "finish" | "failed");
        let (outcome, lifecycle) =
            if took { (outcome, lifecycle) } else { ("cancelled", "cancelled") };
        assert_ended(ralph, outcome, lifecycle);
        assert_eq!(ralph.phase(), Some(taken));
        assert_eq!(ralph.get_str("linked_team_terminal_phase"), Some(taken));
        // A team that waits for the person ends by this cancel.
        let at = if phase == "team-exec" { NOW } else { "2026-11-15T11:30:00.000Z" };
        assert_eq!(ralph.get_str("linked_team_terminal_at"), Some(at));
    }
    let mut world = SessionWorld::live(Mode::Ralph, "executing", "");
    world.put(Mode::Team, r#"{"active":false,"run_outcome":"finish"}"#);
    world.cancel(CancelTarget::Everything);
    assert_ended(world.get(Mode::Ralph), "cancelled", "cancelled");
    assert_eq!(world.get(Mode::Ralph).get("linked_team_terminal_phase"), None);
}

#[test]
fn cancel_3_4_no_late_write_makes_a_cancelled_run_active_again() {
    let mut world = everything();
    world.cancel(CancelTarget::Everything);
    for mode in Mode::ALL {
        let phase = first(mode);
        for input in [
            r#"{"active":true}"#.to_owned(),
            r#"{"active":true,"run_outcome":"continue"}"#.to_owned(),
            format!(r#"{{"active":true,"current_phase":"{phase}","iteration":1}}"#),
        ] {
            world.write_refused(mode, RefusalCode::RecentlyCancelled, &input);
        }
        let _ = world.try_write(mode, r#"{"iteration":1}"#);
        let _ = world.try_write(mode, &format!(r#"{{"current_phase":"{phase}"}}"#));
    }
    assert!(world.active().is_empty());
}

#[test]
fn cancel_3_8_cancelling_twice_changes_nothing() {
    let mut world = everything();
    world.cancel(CancelTarget::Everything);
    let before = world.snapshot.clone();
    world.advance(1_000);
    assert!(world.cancel(CancelTarget::Everything).entries.is_empty());
    for mode in Mode::ALL {
        assert!(world.cancel(CancelTarget::Mode(mode)).entries.is_empty());
    }
    assert_eq!(world.snapshot, before);
    assert_eq!(message::format_nothing_active(Dialect::OMX), "No active OMX modes detected.");
    assert_eq!(message::format_nothing_active(Dialect::OMC), "No active OMC modes detected.");
    assert_eq!(message::USE_FORCE, "Use --force to clear all state files anyway.");
}

#[test]
fn cancel_6_every_mode_has_its_message() {
    let lines = [
        (
            "autopilot",
            "Autopilot cancelled at phase: ralplan. Progress preserved for resume.\nRun /autopilot to resume.",
        ),
        ("ralph", "Ralph cancelled. Persistent mode deactivated."),
        ("ultrawork", "Ultrawork cancelled. Parallel execution mode deactivated."),
        ("ecomode", "Ecomode cancelled. Token-efficient execution mode deactivated."),
        ("ultraqa", "UltraQA cancelled. QA cycling workflow stopped."),
        ("swarm", "Swarm cancelled. Coordinated agents stopped."),
        ("ultrapilot", "Ultrapilot cancelled. Parallel autopilot workers stopped."),
        ("pipeline", "Pipeline cancelled. Sequential agent chain stopped."),
        ("team", "Team ended. No teammate was running."),
        ("ralplan", "Plan Consensus cancelled. Planning session ended."),
        ("code-review", "Code review cancelled. No verdict recorded."),
    ];
    for entry in everything().cancel(CancelTarget::Everything).entries {
        let (_, line) = lines.iter().find(|line| line.0 == entry.mode.name()).unwrap();
        let refusal = message::format_cancelled(&entry, Dialect::OMX, None).join("\n");
        assert_eq!(refusal, *line);
        let run = RunId::new(RUN).unwrap();
        let of_run = message::format_cancelled(&entry, Dialect::OMC, Some(&run)).join("\n");
        let go_on = format!("Run omc resume {RUN} to go on.");
        assert_eq!(of_run, line.replace("Run /autopilot to resume.", &go_on));
        let omc = message::format_cancelled(&entry, Dialect::OMC, None).join("\n");
        assert_eq!(omc, line.replace("/autopilot", "/oh-my-claudecode:autopilot"));
    }
    assert_eq!(
        message::format_all_cleared(Dialect::OMX),
        "All OMX modes cleared. You are free to start fresh."
    );
}

#[test]
fn cancel_6_a_linked_mode_is_reported_before_its_parent() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    world.run(Mode::Ralph, "executing", r#","linked_to":"autopilot""#);
    world.run(Mode::Ultrawork, "executing", r#","linked_to_ralph":true"#);
    let plan = world.cancel(CancelTarget::Everything);
    let lines: Vec<String> = plan
        .entries
        .iter()
        .flat_map(|entry| message::format_cancelled(entry, Dialect::OMX, None))
        .collect();
    assert_eq!(
        lines[..3],
        [
            "Cleaned up: ultrawork (linked to ralph)",
            "Cleaned up: ralph (linked to autopilot)",
            "Autopilot cancelled at phase: ralph. Progress preserved for resume.",
        ]
    );
}

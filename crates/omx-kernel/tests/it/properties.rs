//! modes.md 6.1: invariants after every step of every sequence, however little sense the
//! operations make.

use std::collections::BTreeMap;

use omx_kernel::cancel::CancelTarget;
use omx_kernel::request::WriteIntent;
use omx_kernel::stop::{StopDecision, StopEvent};
use omx_kernel::{Document, DocumentStatus, Mode, RunEnding};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseError, TestRunner};

use crate::sequence::{MODES, OpResult, SequenceStep, foreign_fields, run_sequence, sequences};
use crate::support::{SessionWorld, json};

const LENGTH: usize = 60;

/// Describes how a document violates state.md 2.1 or 2.3, if it does.
fn find_violation(mode: Mode, document: &Document) -> Option<&'static str> {
    let text = |name: &str| document.get_str(name);
    let is_end = |phase: &str| matches!(phase, "complete" | "failed" | "cancelled");
    let phase_ends = document.phase().is_some_and(is_end);
    let Some(active) = document.get("active").and_then(|value| value.as_bool()) else {
        return Some("active is missing");
    };
    if text("mode") != Some(mode.name()) || text("session_id") != Some("s1") {
        return Some("mode or session_id is missing");
    }
    if document.get_u64("revision").is_none() || document.get_time("updated_at").is_none() {
        return Some("revision or updated_at is missing");
    }
    if let (Some(iteration), Some(limit)) =
        (document.get_u64("iteration"), document.get_u64("max_iterations"))
        && iteration > limit
    {
        return Some("iteration is over max_iterations");
    }
    if active {
        let live = matches!(text("run_outcome"), Some("continue" | "progress"));
        return match () {
            () if !live => Some("live without a live outcome"),
            () if document.get("completed_at").is_some() => Some("live and completed"),
            () if document.get("lifecycle_outcome").is_some() => Some("live with an end"),
            () if document.phase().is_none() || phase_ends => Some("live in no live phase"),
            () => None,
        };
    }
    let lifecycle = match text("run_outcome") {
        Some("finish") => "finished",
        Some("blocked_on_user") => "blocked",
        Some("failed") => "failed",
        Some("cancelled") => "cancelled",
        _ => return Some("ended without an end"),
    };
    let phase_fits = match lifecycle {
        "finished" => document.phase() == Some("complete"),
        "failed" => document.phase() == Some("failed"),
        "cancelled" if mode != Mode::Autopilot => document.phase() == Some("cancelled"),
        _ => !phase_ends,
    };
    match () {
        () if text("lifecycle_outcome") != Some(lifecycle) => Some("outcomes disagree"),
        () if document.get_time("completed_at").is_none() => Some("ended without completed_at"),
        () if document.get("waiting").is_some() => Some("ended and waiting"),
        () if !phase_fits => Some("the phase is of another end"),
        () => None,
    }
}

/// modes.md 1: the iteration limit of a document.
fn limit_of(mode: Mode, document: &Document) -> u64 {
    let table = match mode {
        Mode::Autopilot => 10,
        Mode::Ralplan | Mode::Ultraqa => 5,
        Mode::Team | Mode::Swarm => u64::MAX,
        _ => 50,
    };
    document.get_u64("max_iterations").unwrap_or(table)
}

/// modes.md 4.3: how often a run may be held.
fn max_holds(mode: Mode, document: &Document) -> u64 {
    match mode {
        Mode::Ralph | Mode::Ultrawork => limit_of(mode, document).min(200),
        _ => 200,
    }
}

fn is_fresh(step: &SequenceStep<'_>, mode: Mode) -> bool {
    matches!(step.event, OpResult::Written { request, fresh: true } if request.mode == mode)
}

proptest! {
    #[test]
    fn modes_6_1_no_document_ever_violates_state_2_3(ops in sequences(LENGTH)) {
        run_sequence(&ops, |step| {
            for (mode, document) in &step.after.snapshot.documents {
                let wrong = find_violation(*mode, document);
                prop_assert_eq!(wrong, None, "{:?}: {}", step.event, json(document));
            }
            Ok(())
        })?;
    }

    #[test]
    fn modes_6_1_after_a_cancel_nothing_is_active_or_revives_by_itself(
        ops in sequences(LENGTH),
    ) {
        run_sequence(&ops, |step| {
            if let OpResult::Cancelled(target) = step.event {
                let active = step.after.active();
                prop_assert!(*target != CancelTarget::Everything || active.is_empty());
                if let CancelTarget::Mode(mode) = target {
                    prop_assert!(!active.contains(&mode.name()));
                }
                let event = StopEvent::turn_ended();
                let held = matches!(step.after.decide(&event), StopDecision::Hold(_));
                prop_assert!(*target != CancelTarget::Everything || !held);
            }
            for mode in MODES {
                let before = step.before.snapshot.documents.get(&mode).map(Document::status);
                let is_active = step.after.snapshot.active(mode).is_some();
                if !is_active || before == Some(DocumentStatus::Active) {
                    continue;
                }
                let OpResult::Written { request, .. } = step.event else {
                    return Err(TestCaseError::fail(format!("{:?} revived {mode:?}", step.event)));
                };
                prop_assert_eq!(request.mode, mode, "another mode was revived");
                let guarded = match before {
                    Some(DocumentStatus::Ended(ending)) =>
                        matches!(ending, RunEnding::Cancelled | RunEnding::Blocked),
                    Some(DocumentStatus::Active) => false,
                    None => step.before.snapshot.activity
                        .remembers_cancel(mode.name(), step.before.now),
                };
                prop_assert!(!guarded || request.intent != WriteIntent::Change, "{mode:?} revived");
            }
            Ok(())
        })?;
    }

    #[test]
    fn modes_6_1_revisions_strictly_increase(ops in sequences(LENGTH)) {
        let mut last: BTreeMap<Mode, u64> = BTreeMap::new();
        run_sequence(&ops, |step| {
            for (mode, document) in &step.after.snapshot.documents {
                if step.before.snapshot.documents.get(mode) == Some(document) {
                    continue;
                }
                let before = last.insert(*mode, document.revision());
                prop_assert!(before.unwrap_or(0) < document.revision(), "{}", json(document));
            }
            Ok(())
        })?;
    }

    #[test]
    fn modes_6_1_a_run_is_held_no_more_often_than_its_limit(ops in sequences(LENGTH)) {
        let mut holds: BTreeMap<Mode, u64> = BTreeMap::new();
        let mut granted: BTreeMap<Mode, u64> = BTreeMap::new();
        run_sequence(&ops, |step| {
            for mode in MODES {
                let Some(document) = step.after.snapshot.documents.get(&mode) else { continue };
                if is_fresh(step, mode) {
                    holds.insert(mode, 0);
                    granted.insert(mode, max_holds(mode, document));
                }
            }
            if let OpResult::Held(mode) = step.event {
                *holds.entry(*mode).or_default() += 1;
                prop_assert!(holds[mode] <= granted[mode]);
                prop_assert!(step.after.snapshot.activity.holds_in_a_row <= 7);
                prop_assert!(step.after.snapshot.activity.same_fingerprint < 5);
            }
            if let OpResult::RanOut(mode) = step.event {
                let ending = step.after.get(*mode).status();
                let refusal = matches!(ending, DocumentStatus::Ended(RunEnding::Failed | RunEnding::Blocked));
                prop_assert!(refusal, "a bound is never success");
            }
            Ok(())
        })?;
    }

    #[test]
    fn modes_6_1_holds_end_after_any_history_even_with_tool_calls_and_changes(
        ops in sequences(LENGTH),
    ) {
        let mut world = run_sequence(&ops, |_| Ok(()))?;
        let limits: u64 = MODES
            .iter()
            .filter_map(|mode| Some(max_holds(*mode, world.snapshot.active(*mode)?)))
            .fold(0, u64::saturating_add);
        let mut holds = 0;
        for progress in 1_000.. {
            world.snapshot.activity.record_tool_use(world.now);
            let event = StopEvent { progress: Some(progress), ..StopEvent::turn_ended() };
            match world.stop(&event) {
                StopDecision::Hold(_) => holds += 1,
                StopDecision::Exhausted(_) => {}
                StopDecision::Allow(_) => break,
            }
            prop_assert!(holds <= limits);
        }
               // A run that waits for a limit or a worker is neither held nor ended.
        let mut active = world.snapshot.active_modes();
        prop_assert!(active.all(|mode| world.get(mode).get("waiting").is_some()));
    }

    #[test]
    fn state_2_2_foreign_fields_survive_byte_for_byte_and_in_order(ops in sequences(LENGTH)) {
        run_sequence(&ops, |step| {
            for mode in MODES {
                let Some(after) = step.after.snapshot.documents.get(&mode) else { continue };
                let mut expected = match is_fresh(step, mode) {
                    true => Vec::new(),
                    false => foreign_fields(step.before.snapshot.documents.get(&mode)),
                };
                if let OpResult::Written { request, .. } = step.event
                    && request.mode == mode
                {
                    for (name, value) in &request.fields {
                        let known = expected.iter().position(|(known, _)| known == name);
                        match (known, value.is_null()) {
                            _ if !name.starts_with("x_") => {}
                            (Some(at), true) => drop(expected.remove(at)),
                            (Some(at), false) => expected[at].1 = value.as_json().to_owned(),
                            (None, true) => {}
                            (None, false) => expected.push((name.clone(), value.as_json().to_owned())),
                        }
                    }
                }
                prop_assert_eq!(foreign_fields(Some(after)), expected, "{:?}", step.event);
            }
            Ok(())
        })?;
    }

    #[test]
    fn modes_4_5_only_a_start_raises_limits_or_lowers_counters(ops in sequences(LENGTH)) {
        run_sequence(&ops, |step| {
            for mode in MODES {
                let documents = (
                    step.before.snapshot.documents.get(&mode),
                    step.after.snapshot.documents.get(&mode),
                );
                let (Some(before), Some(after)) = documents else { continue };
                if is_fresh(step, mode) {
                    continue;
                }
                prop_assert!(limit_of(mode, after) <= limit_of(mode, before), "{}", json(after));
                // 2.2: the iteration of a review that is not clean follows from the cycle.
                let fits = mode == Mode::Autopilot
                    && after.get_u64("iteration") == after.get_u64("review_cycle").map(|at| at + 1);
                for counter in ["iteration", "review_cycle", "fix_loop_count"] {
                    if counter == "iteration" && fits {
                        continue;
                    }
                    prop_assert!(after.get_u64(counter) >= before.get_u64(counter), "{}", json(after));
                }
            }
            Ok(())
        })?;
    }
}

/// The properties above are meaningful only if the sequences reach every kind of event.
#[test]
fn modes_6_1_the_random_sequences_reach_every_kind_of_event() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..300 {
        let ops = sequences(LENGTH).new_tree(&mut runner).unwrap().current();
        run_sequence(&ops, |step| {
            let mut count = |name: String| *seen.entry(name).or_default() += 1;
            match step.event {
                OpResult::Written { request, fresh } => {
                    let life = |world: &SessionWorld| world.get(request.mode).status();
                    count(format!("{:?} to {:?}", request.intent, life(step.after)));
                    if *fresh && step.before.snapshot.documents.contains_key(&request.mode) {
                        count("a new run over an old one".to_owned());
                    }
                }
                OpResult::Cancelled(_) => {
                    count(format!("cancelled {}", step.before.active().len()))
                }
                OpResult::RanOut(_) => count("ran out".to_owned()),
                OpResult::Held(_) => count("held".to_owned()),
                _ => {}
            }
            Ok(())
        })
        .unwrap();
    }
    for name in [
        "Change to Active",
        "Change to Ended(Finished)",
        "Change to Ended(Failed)",
        "Change to Ended(Blocked)",
        "Change to Ended(Cancelled)",
        "Start to Active",
        "Resume to Active",
        "a new run over an old one",
        "cancelled 1",
        "cancelled 2",
        "ran out",
        "held",
    ] {
        assert!(seen.get(name).is_some_and(|times| *times >= 3), "{name}: {seen:?}");
    }
}

//! modes.md 4.3: a hold is not a round, and holds have bounds of their own.

use omx_kernel::Mode;
use omx_kernel::stop::StopEvent;

use crate::stop::{exhausted, first, held, seen};
use crate::support::{SessionWorld, assert_ended};

/// The modes whose rounds are transitions.
const COUNT_TRANSITIONS: [Mode; 8] = [
    Mode::Autopilot,
    Mode::Ralplan,
    Mode::CodeReview,
    Mode::Ultraqa,
    Mode::Pipeline,
    Mode::Team,
    Mode::Swarm,
    Mode::Ultrapilot,
];

#[test]
fn modes_4_3_a_hold_of_any_other_mode_is_not_a_round() {
    for mode in COUNT_TRANSITIONS {
        // In the last round, so that one more would be too many.
        let more = r#","iteration":1,"max_iterations":1"#;
        let mut world = SessionWorld::live(mode, first(mode), more);
        let before = world.get(mode).clone();
        for progress in 0..25 {
            world.snapshot.activity.record_tool_use(world.now);
            let hold = held(world.stop(&seen(progress)));
            assert_eq!(hold.document, None, "{mode:?}");
        }
        assert_eq!(*world.get(mode), before, "{mode:?}");
    }
}

#[test]
fn modes_4_3_a_run_is_held_at_most_max_holds_times() {
    for mode in COUNT_TRANSITIONS {
        let mut world = SessionWorld::live(mode, first(mode), "");
        for progress in 0..200 {
            world.snapshot.activity.record_tool_use(world.now);
            held(world.stop(&seen(progress)));
        }
        world.snapshot.activity.record_tool_use(world.now);
        let end = exhausted(world.stop(&seen(200)));
        assert_ended(end.document().unwrap(), "blocked_on_user", "blocked");
        assert!(end.error.contains("limits.max_holds"), "{}", end.error);
    }
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    let few = |progress| StopEvent { max_holds: 2, ..seen(progress) };
    for progress in 0..2 {
        held(world.stop(&few(progress)));
    }
    exhausted(world.stop(&few(2)));
}

#[test]
fn modes_4_3_holds_of_a_linked_mode_count_for_the_whole_run() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    let event = |progress| StopEvent { max_holds: 4, ..seen(progress) };
    for progress in 0..4 {
        if progress == 2 {
            world.run(Mode::Ralph, "executing", r#","linked_to":"autopilot""#);
        }
        held(world.stop(&event(progress)));
    }
    let end = exhausted(world.stop(&event(4)));
    assert_eq!(end.mode, Mode::Autopilot);
    assert_ended(world.get(Mode::Autopilot), "blocked_on_user", "blocked");
    assert!(world.active().is_empty(), "its dependents end with it");
}

#[test]
fn modes_4_3_only_a_new_run_begins_the_count_of_holds_anew() {
    let mut world = SessionWorld::live(Mode::Autopilot, "ralph", "");
    for progress in 0..3 {
        held(world.stop(&seen(progress)));
    }
    for input in [r#"{"started_at":"2026-11-15T11:00:00Z"}"#, r#"{"active":true}"#, r#"{"x":1}"#] {
        let plan = world.try_write(Mode::Autopilot, input).unwrap();
        assert_eq!(plan.activity, None, "{input}");
    }
    assert_eq!(world.snapshot.activity.holds["autopilot"], 3);
    world.write(Mode::Autopilot, r#"{"run_outcome":"failed"}"#);
    let resumed = world.plan(Mode::Autopilot, r#"{"resume":true}"#).unwrap();
    assert_eq!(resumed.activity, None);
    let anew = world.plan(Mode::Autopilot, r#"{"start":true}"#).unwrap();
    assert!(anew.activity.unwrap().holds.is_empty());
}

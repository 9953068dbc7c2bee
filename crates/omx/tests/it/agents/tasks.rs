//! Programs that omx runs itself, a project's check above all, under the same
//! guard: on time, and with nothing left (conductor.md 1.3).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use omx_agents::task::{TaskEnd, run};
use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};

use super::stage::OMX;
use super::stand_in::{DEADLINE, Place, StandIn, apart, open_files_and_threads};

const LONG: Duration = Duration::from_secs(60);
const AT_MOST: Duration = Duration::from_secs(7);

/// A child that does what it can to get away, and notes when it is up.
const RUNAWAY: &str = "( setsid sh -c \"trap '' HUP INT TERM; touch up; for i in $(seq 1000); do sleep 0.1; done\" \
    >/dev/null 2>&1 & ); until test -e up; do sleep 0.01; done";

fn task(place: &Place, script: &str, patience: Duration) -> std::io::Result<TaskEnd> {
    let launch = StandIn::shell(&place.folder(), script).launch;
    run(&launch, OMX.as_ref(), patience, &AtomicBool::new(false))
}

#[test]
fn a_task_ends_with_its_code_and_leaves_nothing() {
    apart(|| {
        let place = Place::new();
        let before = open_files_and_threads();
        for (script, code) in [("exit 0", Some(0)), ("exit 7", Some(7)), ("kill -KILL $$", None)] {
            let script = format!("{RUNAWAY}; {script}");
            let begun = Instant::now();
            assert_eq!(task(&place, &script, LONG).unwrap(), TaskEnd::Exited(code), "{script}");
            assert!(place.processes().is_empty(), "{script}: {:#?}", place.processes());
            assert!(begun.elapsed() < AT_MOST, "{script}: {:?}", begun.elapsed());
        }
        await_condition("all is given back", DEADLINE, || open_files_and_threads() == before);
        let children = "/proc/self/task/self/children".replace("task/self", "thread-self");
        assert_eq!(std::fs::read_to_string(children).unwrap_or_default(), "", "dead and unburied");
    });
}

#[test]
fn a_task_that_takes_too_long_is_ended() {
    let place = Place::new();
    let script = format!("{RUNAWAY}; for i in $(seq 1000); do sleep 0.1; done");
    let begun = Instant::now();
    let end = task(&place, &script, Duration::from_millis(500)).unwrap();
    assert_eq!(end, TaskEnd::TimedOut);
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
    assert!(begun.elapsed() < AT_MOST, "{:?}", begun.elapsed());
}

#[test]
fn a_task_that_is_stopped_is_ended_also_if_its_guard_was_stopped() {
    let place = Place::new();
    let launch =
        place.shell(&format!("{RUNAWAY}; for i in $(seq 1000); do sleep 0.1; done")).launch;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&launch, OMX.as_ref(), LONG, &stop).unwrap());
        await_condition("it runs", DEADLINE, || place.at("up").exists());
        kill(place.guard(), Signal::STOP);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(running.join().unwrap(), TaskEnd::Stopped);
    });
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
}

#[test]
fn nothing_is_left_of_a_task_whose_guard_is_killed() {
    let place = Place::new();
    let launch =
        place.shell(&format!("{RUNAWAY}; for i in $(seq 1000); do sleep 0.1; done")).launch;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&launch, OMX.as_ref(), LONG, &stop).unwrap());
        await_condition("it runs", DEADLINE, || place.at("up").exists());
        kill(place.guard(), Signal::KILL);
        assert_eq!(running.join().unwrap(), TaskEnd::Exited(None));
    });
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
}

/// It should print elsewhere; if it does not, that must not hold it up.
#[test]
fn what_a_task_prints_into_its_pipes_does_not_hold_it_up() {
    let place = Place::new();
    let script = "yes a line | head -c 20000000; yes complaint | head -c 20000000 >&2; exit 3";
    assert_eq!(task(&place, script, LONG).unwrap(), TaskEnd::Exited(Some(3)));
}

#[test]
fn a_task_that_cannot_be_started_is_told() {
    let place = Place::new();
    let mut launch = place.shell("").launch;
    launch.program = place.at("missing");
    let error = run(&launch, OMX.as_ref(), LONG, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

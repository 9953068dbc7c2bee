//! A guarded run leaves nothing behind: no process of its tree, no zombie.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use omx_process::guard::{GuardCommand, GuardReport};
use omx_process::{GuardedExit, GuardedProcess, ProcessEvent, ProcessInfo, Signal};

use crate::stage::{LONG, ProcessFixture, wait_until};

/// A child in a session of its own, one without a parent, one that ignores signals.
const FAMILY: &str = r#"
setsid sh -c 'echo $$ > session; exec sleep 1000' &
( ( sh -c 'echo $$ > orphan; exec sleep 1000' & ) & )
sh -c "trap '' HUP INT TERM; echo \$\$ > deaf; while :; do sleep 0.1; done" &
until test -s session && test -s orphan && test -s deaf; do sleep 0.01; done
"#;

fn start(stage: &ProcessFixture, script: &str) -> (GuardedProcess, Receiver<ProcessEvent>) {
    let (sender, events) = channel();
    let report = move |event| drop(sender.send(event));
    let process =
        GuardedProcess::start(&stage.script(script), &stage.guard(), 1000, report).unwrap();
    (process, events)
}

#[track_caller]
fn until_ready(process: &GuardedProcess, events: &Receiver<ProcessEvent>) {
    while let Ok(event) = events.recv_timeout(LONG) {
        if let ProcessEvent::Line(line) = event {
            process.acknowledge(&line);
            // The test harness begins the line.
            if line.ends_with(b"ready") {
                return;
            }
        }
    }
    panic!("the program is never ready");
}

#[track_caller]
fn until_guard_gone(events: &Receiver<ProcessEvent>) -> Vec<GuardReport> {
    let mut reports = Vec::new();
    loop {
        match events.recv_timeout(LONG).unwrap() {
            ProcessEvent::Guard(report) => reports.push(report),
            ProcessEvent::GuardGone => return reports,
            _ => {}
        }
    }
}

#[test]
fn a_program_that_exits_reports_its_code_and_its_output() {
    let stage = ProcessFixture::new();
    let output = stage.run("echo one; echo two; exit 3", LONG, &AtomicBool::new(false));
    assert_eq!(output.exit, GuardedExit::Exited(Some(3)));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.ends_with("one\ntwo\n"), "{text:?}");
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let stage = ProcessFixture::new();
    assert_eq!(stage.run_missing().kind(), std::io::ErrorKind::NotFound);
    assert_eq!(stage.processes(), []);
}

#[test]
fn the_whole_tree_ends_with_a_program_that_exits() {
    let stage = ProcessFixture::new();
    let output = stage.run(&format!("{FAMILY} exit 0"), LONG, &AtomicBool::new(false));
    assert_eq!(output.exit, GuardedExit::Exited(Some(0)));
    assert_eq!(stage.processes(), []);
}

#[test]
fn the_whole_tree_ends_at_the_deadline() {
    let stage = ProcessFixture::new();
    let script = format!("{FAMILY} touch ready; sleep 1000");
    let output = stage.run(&script, Duration::from_millis(1500), &AtomicBool::new(false));
    assert_eq!(output.exit, GuardedExit::TimedOut);
    assert_eq!(stage.processes(), []);
}

#[test]
fn the_whole_tree_ends_when_it_is_stopped() {
    let stage = ProcessFixture::new();
    let stop = AtomicBool::new(false);
    let script = format!("{FAMILY} touch ready; sleep 1000");
    let output = std::thread::scope(|scope| {
        let run = scope.spawn(|| stage.run(&script, LONG, &stop));
        wait_until("the program runs", || stage.path("ready").exists());
        stop.store(true, Ordering::Relaxed);
        run.join().unwrap()
    });
    assert_eq!(output.exit, GuardedExit::Stopped);
    assert_eq!(stage.processes(), []);
}

#[test]
fn a_killed_guard_takes_its_tree_with_it() {
    let stage = ProcessFixture::new();
    // The guard is the parent of the program.
    // A process that has left both its session and its parents has only its mark.
    let lost = "setsid sh -c \"( sh -c 'echo 1 > lost; exec sleep 1000' & )\"; until test -s lost; do sleep 0.01; done;";
    let script = format!("echo $PPID > guard-pid; {lost} {FAMILY} touch ready; sleep 1000");
    let output = std::thread::scope(|scope| {
        let run = scope.spawn(|| stage.run(&script, LONG, &AtomicBool::new(false)));
        wait_until("the program runs", || stage.path("ready").exists());
        assert!(stage.process("guard-pid").signal(Signal::KILL));
        run.join().unwrap()
    });
    assert_eq!(output.exit, GuardedExit::GuardKilled(0));
    assert_eq!(stage.processes(), []);
}

#[test]
fn a_marked_tree_is_found_without_its_guard() {
    let stage = ProcessFixture::new();
    let script = format!("echo $PPID > guard-pid; {FAMILY} echo ready; sleep 1000");
    let (process, events) = start(&stage, &script);
    until_ready(&process, &events);
    assert!(stage.process("guard-pid").signal(Signal::KILL));
    assert!(!until_guard_gone(&events).contains(&GuardReport::Gone));
    assert_eq!(process.kill_leftovers(Some(("MARK", stage.mark())), LONG), 0);
    process.reap();
    assert_eq!(stage.processes(), []);
}

#[test]
fn the_kill_command_needs_no_grace() {
    let stage = ProcessFixture::new();
    let script = format!("trap '' INT TERM; {FAMILY} echo ready; while :; do sleep 1; done");
    let (process, events) = start(&stage, &script);
    until_ready(&process, &events);
    process.send_command(GuardCommand::Kill);
    let reports = until_guard_gone(&events);
    assert_eq!(reports.last(), Some(&GuardReport::Gone), "{reports:?}");
    assert!(reports.contains(&GuardReport::Exited(None)), "{reports:?}");
    process.reap();
    assert_eq!(stage.processes(), []);
}

#[test]
fn a_dropped_process_is_terminated_by_its_guard() {
    let stage = ProcessFixture::new();
    let (process, events) = start(&stage, &format!("{FAMILY} echo ready; sleep 1000"));
    until_ready(&process, &events);
    drop(process);
    wait_until("nothing of the tree is left", || stage.processes().iter().all(|info| info.is_dead));
}

/// A finished check once left its guard as a zombie until omx exited.
#[test]
fn a_guarded_run_leaves_no_zombie() {
    let own = std::process::id();
    let stage = ProcessFixture::new();
    for _ in 0..3 {
        stage.run("exit 0", LONG, &AtomicBool::new(false));
    }
    stage.run_missing();
    // Guards of tests beside this one may be dead for a moment; a zombie stays.
    let zombies = || {
        let mut all = ProcessInfo::read_all();
        all.retain(|info| info.parent == own && info.is_dead);
        all
    };
    let seen = zombies();
    wait_until(&format!("these are reaped: {seen:#?}"), || {
        !zombies().iter().any(|info| seen.contains(info))
    });
}

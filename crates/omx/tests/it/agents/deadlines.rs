//! Nothing waits without a deadline (conductor.md 1.3): however badly a
//! program behaves, it is ended in time, with the cause by name, and neither a
//! process nor a thread nor an open file is left.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use omx_agents::agent::Decision;
use omx_agents::event::ApprovalId;
use omx_agents::{Agent, Event, Limits, Message};
use omx_testkit::await_condition;

use super::stand_in::{AfterExit, DEADLINE, Meeting, Place, StandIn, apart};

/// Long enough for a loaded machine, short enough to wait for.
const LIMITS: Limits = Limits {
    start: Duration::from_millis(1500),
    request: Duration::from_millis(1500),
    silence: Duration::from_millis(1500),
    interrupt: Duration::from_millis(700),
    end: Duration::from_millis(300),
    write: Duration::from_millis(1500),
    line: 1 << 20,
    garbage: 50,
};

/// The longest deadline, INT, TERM and KILL a second apart, and some time to breathe.
const AT_MOST: Duration = Duration::from_millis(1500 + 1000 + 2000 + 2500);

/// What is done to a program after it was started.
#[derive(Clone, Copy)]
enum Done {
    Nothing,
    /// Something is said once the conversation is open.
    Sent,
    /// A megabyte is said.
    SentMuch,
    /// Something is said and taken back.
    Interrupted,
}

/// Name, program, what is done to it, and the cause that is told.
const TABLE: &[(&str, &str, Done, &str)] = &[
    ("prints nothing", "exec sleep 1000", Done::Nothing, "silent"),
    ("prints blank lines", "while :; do echo; sleep 0.01; done", Done::Nothing, "silent"),
    ("prints garbage for ever", "exec yes garbage", Done::Nothing, "garbage"),
    ("prints garbage, then nothing", "echo hm; exec sleep 1000", Done::Nothing, "garbage"),
    ("prints no text at all", "exec cat /dev/urandom", Done::Nothing, "garbage"),
    ("prints foreign JSON for ever", "exec yes '{\"x\":1}'", Done::Nothing, "silent"),
    ("prints one endless line", "exec tr '\\0' x </dev/zero", Done::Nothing, "line_too_long"),
    ("is stopped", "kill -STOP $$", Done::Nothing, "silent"),
    ("closes its output", "exec >&-; exec sleep 1000", Done::Nothing, "pipe_closed"),
    ("closes everything", "exec <&- >&- 2>&-; exec sleep 1000", Done::Nothing, "pipe_closed"),
    (
        "closes its output, deaf",
        "trap '' INT TERM; exec >&-; sleep 1000",
        Done::Nothing,
        "pipe_closed",
    ),
    ("exits at once", "exit 7", Done::Nothing, "crashed"),
    ("kills itself", "kill -KILL $$", Done::Nothing, "crashed"),
    (
        "exits and leaves a child with its pipes",
        "sleep 1000 <&0 & exit 7",
        Done::Nothing,
        "crashed",
    ),
    (
        "exits and leaves a deaf child",
        "sh -c \"trap '' INT TERM; echo; while :; do sleep 0.1; done\" >/dev/null 2>&1 & sleep 0.2; exit 7",
        Done::Nothing,
        "crashed",
    ),
    (
        "closes its input",
        "exec <&-; echo '{\"started\":true}'; exec sleep 1000",
        Done::Sent,
        "pipe_closed",
    ),
    (
        "never reads its input",
        "echo '{\"started\":true}'; exec sleep 1000",
        Done::SentMuch,
        "pipe_closed",
    ),
    ("never answers", "echo '{\"started\":true}'; exec sleep 1000", Done::Sent, "silent"),
    (
        "answers with garbage for ever",
        "echo '{\"started\":true}'; read -r line; exec yes garbage",
        Done::Sent,
        "garbage",
    ),
    (
        "answers with garbage, then nothing",
        "echo '{\"started\":true}'; read -r line; echo hm; exec sleep 1000",
        Done::Sent,
        "garbage",
    ),
    (
        "closes its output in a turn",
        "echo '{\"started\":true}'; read -r line; exec >&-; exec sleep 1000",
        Done::Sent,
        "pipe_closed",
    ),
    (
        "exits in a turn",
        "echo '{\"started\":true}'; read -r line; echo why >&2; exit 7",
        Done::Sent,
        "crashed",
    ),
    (
        "ignores an interrupt",
        "echo '{\"started\":true}'; while :; do echo '{\"x\":1}'; sleep 0.05; done",
        Done::Interrupted,
        "silent",
    ),
];

#[test]
fn every_bad_program_is_ended_in_time_and_by_name() {
    apart(|| {
        let before = resources();
        std::thread::scope(|scope| {
            for (name, script, done, kind) in TABLE {
                let thread = std::thread::Builder::new().name((*name).to_owned());
                thread.spawn_scoped(scope, || ended_by_name(name, script, *done, kind)).unwrap();
            }
        });
        await_condition("all is given back", DEADLINE, || resources() == before);
    });
}

fn ended_by_name(name: &str, script: &str, done: Done, kind: &str) {
    let place = Place::new();
    let mut meeting = place.shell(script).limits(LIMITS).open();
    let mut begun = Instant::now();
    if !matches!(done, Done::Nothing) {
        meeting.started();
        begun = Instant::now();
    }
    match done {
        Done::Nothing => {}
        Done::Sent => meeting.agent.send(Message::text("do")),
        Done::SentMuch => meeting.agent.send(Message::text("do ".repeat(350_000))),
        Done::Interrupted => {
            meeting.agent.send(Message::text("do"));
            meeting.agent.interrupt();
        }
    }
    let why = meeting.over().unwrap_or_else(|| panic!("{name}: no trouble"));
    let took = begun.elapsed();
    let left = place.processes();
    assert!(left.is_empty(), "{name}: outlived the end: {left:#?}");
    assert_eq!(why.kind(), kind, "{name}: {why}");
    assert!(took < AT_MOST, "{name}: {took:?}");
    // Whoever had a turn is told how it ended, once, right before the end.
    let turns = meeting.seen.iter().filter(|event| {
        matches!(event, Event::TurnFailed(_) | Event::TurnInterrupted | Event::TurnFinished(_))
    });
    let expected = match done {
        Done::Nothing => vec![],
        Done::Sent | Done::SentMuch => vec![Event::TurnFailed(why.clone())],
        Done::Interrupted => vec![Event::TurnInterrupted],
    };
    assert_eq!(turns.cloned().collect::<Vec<_>>(), expected, "{name}");
    if script.contains("exit 7") {
        assert!(why.to_string().contains("code 7"), "{name}: {why}");
    }
    if script.contains("why >&2") {
        assert!(why.to_string().ends_with(": why"), "{name}: {why}");
    }
}

/// How many threads and open files this process has.
fn resources() -> (usize, usize) {
    let count = |folder: &str| fs::read_dir(folder).unwrap().count();
    (count("/proc/self/task"), count("/proc/self/fd"))
}

//! Nothing waits without a deadline (conductor.md 1.3): however badly a
//! program behaves, it is ended in time with the right cause, and leaves no
//! process, thread or open file.

use std::fs;
use std::time::{Duration, Instant};

use omx_agents::{Agent, AgentEvent, AgentLimits, AgentMessage};
use omx_testkit::await_condition;

use super::stand_in::{DEADLINE, StandInFolder, apart, open_files_and_threads};

/// Long enough for a loaded machine, short enough to wait for.
pub const LIMITS: AgentLimits = AgentLimits {
    start: Duration::from_secs(4),
    request: Duration::from_secs(4),
    silence: Duration::from_secs(4),
    interrupt: Duration::from_millis(700),
    end: Duration::from_millis(300),
    write: Duration::from_millis(1000),
    line: 1 << 20,
    garbage: 50,
};

/// For a program whose fault is found at once: even a busy machine starts it in this time.
const PATIENT: AgentLimits = AgentLimits {
    start: Duration::from_secs(60),
    request: Duration::from_secs(60),
    silence: Duration::from_secs(60),
    ..LIMITS
};

/// The longest of [`LIMITS`], INT, TERM and KILL a second apart, and much slack; less than
/// a patient deadline.
pub const AT_MOST: Duration = Duration::from_secs(40);

/// What the test does after the program has started.
#[derive(Clone, Copy)]
enum NextMove {
    Nothing,
    /// Send a message once the conversation is open.
    Sent,
    /// Send a megabyte.
    SentMuch,
    /// Send a message and interrupt it.
    Interrupted,
}

/// Name, program, what the test does, and the reported cause.
const TABLE: &[(&str, &str, NextMove, &str)] = &[
    ("prints nothing", "exec sleep 1000", NextMove::Nothing, "silent"),
    ("prints blank lines", "while :; do echo; sleep 0.01; done", NextMove::Nothing, "silent"),
    ("prints garbage for ever", "exec yes garbage", NextMove::Nothing, "garbage"),
    ("prints garbage, then nothing", "echo hm; exec sleep 1000", NextMove::Nothing, "garbage"),
    ("prints no text at all", "exec cat /dev/urandom", NextMove::Nothing, "garbage"),
    ("prints foreign JSON for ever", "exec yes '{\"x\":1}'", NextMove::Nothing, "silent"),
    ("prints one endless line", "exec tr '\\0' x </dev/zero", NextMove::Nothing, "line_too_long"),
    ("is stopped", "kill -STOP $$", NextMove::Nothing, "silent"),
    ("closes its output", "exec >&-; exec sleep 1000", NextMove::Nothing, "pipe_closed"),
    ("closes everything", "exec <&- >&- 2>&-; exec sleep 1000", NextMove::Nothing, "pipe_closed"),
    (
        "closes its output, deaf",
        "trap '' INT TERM; exec >&-; sleep 1000",
        NextMove::Nothing,
        "pipe_closed",
    ),
    ("exits at once", "exit 7", NextMove::Nothing, "crashed"),
    ("kills itself", "kill -KILL $$", NextMove::Nothing, "crashed"),
    (
        "exits and leaves a child with its pipes",
        "sleep 1000 <&0 & exit 7",
        NextMove::Nothing,
        "crashed",
    ),
    (
        "exits and leaves a deaf child",
        "sh -c \"trap '' INT TERM; echo; while :; do sleep 0.1; done\" >/dev/null 2>&1 & sleep 0.2; exit 7",
        NextMove::Nothing,
        "crashed",
    ),
    (
        "closes its input",
        "exec <&-; echo '{\"started\":true}'; exec sleep 1000",
        NextMove::SentMuch,
        "pipe_closed",
    ),
    (
        "never reads its input",
        "echo '{\"started\":true}'; exec sleep 1000",
        NextMove::SentMuch,
        "pipe_closed",
    ),
    ("never answers", "echo '{\"started\":true}'; exec sleep 1000", NextMove::Sent, "silent"),
    (
        "answers with garbage for ever",
        "echo '{\"started\":true}'; read -r line; exec yes garbage",
        NextMove::Sent,
        "garbage",
    ),
    (
        "answers with garbage, then nothing",
        "echo '{\"started\":true}'; read -r line; echo hm; exec sleep 1000",
        NextMove::Sent,
        "garbage",
    ),
    (
        "closes its output in a turn",
        "echo '{\"started\":true}'; read -r line; exec >&-; exec sleep 1000",
        NextMove::Sent,
        "pipe_closed",
    ),
    (
        "exits in a turn",
        "echo '{\"started\":true}'; read -r line; echo why >&2; exit 7",
        NextMove::Sent,
        "crashed",
    ),
    (
        "ignores an interrupt",
        "echo '{\"started\":true}'; while :; do echo '{\"x\":1}'; sleep 0.05; done",
        NextMove::Interrupted,
        "silent",
    ),
];

#[test]
fn every_misbehaving_program_is_ended_in_time_with_the_right_cause() {
    apart(|| {
        let before = open_files_and_threads();
        std::thread::scope(|scope| {
            for (name, script, done, kind) in TABLE {
                let thread = std::thread::Builder::new().name((*name).to_owned());
                thread.spawn_scoped(scope, || ended_by_name(name, script, *done, kind)).unwrap();
            }
        });
        await_condition("all is given back", DEADLINE, || open_files_and_threads() == before);
    });
}

fn ended_by_name(name: &str, script: &str, done: NextMove, kind: &str) {
    let place = StandInFolder::new();
    let ends_in_silence = kind == "silent" || name.ends_with("then nothing");
    let limits = if ends_in_silence { LIMITS } else { PATIENT };
    let mut conversation = place.shell(script).limits(limits).open();
    let mut begun = Instant::now();
    if !matches!(done, NextMove::Nothing) {
        conversation.started();
        begun = Instant::now();
    }
    match done {
        NextMove::Nothing => {}
        NextMove::Sent => conversation.agent.send(AgentMessage::text("do")),
        NextMove::SentMuch => conversation.agent.send(AgentMessage::text("do ".repeat(350_000))),
        NextMove::Interrupted => {
            conversation.agent.send(AgentMessage::text("do"));
            conversation.agent.interrupt();
        }
    }
    let why = conversation.over().unwrap_or_else(|| panic!("{name}: no failure"));
    let took = begun.elapsed();
    let left = place.processes();
    assert!(left.is_empty(), "{name}: outlived the end: {left:#?}");
    assert_eq!(why.kind(), kind, "{name}: {why}");
    assert!(took < AT_MOST, "{name}: {took:?}");
    // A running turn reports its end once, right before the conversation ends.
    let turns = conversation.seen.iter().filter(|event| {
        matches!(
            event,
            AgentEvent::TurnFailed(_) | AgentEvent::TurnInterrupted | AgentEvent::TurnFinished(_)
        )
    });
    let expected = match done {
        NextMove::Nothing => vec![],
        NextMove::Sent | NextMove::SentMuch => vec![AgentEvent::TurnFailed(why.clone())],
        NextMove::Interrupted => vec![AgentEvent::TurnInterrupted],
    };
    assert_eq!(turns.cloned().collect::<Vec<_>>(), expected, "{name}");
    if script.contains("exit 7") {
        assert!(why.to_string().contains("code 7"), "{name}: {why}");
    }
    if script.contains("why >&2") {
        assert!(why.to_string().ends_with(": why"), "{name}: {why}");
    }
}

/// A program that cannot start is reported with the system's message.
#[test]
fn a_program_that_cannot_start_is_reported() {
    apart(|| {
        let place = StandInFolder::new();
        let script = place.at("no-interpreter");
        omx_testkit::write_program(&script, "#!/nowhere/at/all\n");
        fs::write(place.at("not-executable"), "#!/bin/sh\n").unwrap();
        let before = open_files_and_threads();
        for (name, word) in [
            ("missing", "No such file"),
            ("no-interpreter", "No such file"),
            ("not-executable", "Permission denied"),
            (".", "Permission denied"),
        ] {
            let mut program = place.shell("");
            program.launch.program = place.at(name);
            let begun = Instant::now();
            let mut conversation = program.limits(PATIENT).open();
            conversation.agent.send(AgentMessage::text("do"));
            let why = conversation.over().unwrap();
            assert_eq!(why.kind(), "cannot_start", "{name}: {why}");
            assert!(why.to_string().contains(word) && why.to_string().contains(name), "{why}");
            assert!(begun.elapsed() < PATIENT.start, "{name}: {:?}", begun.elapsed());
        }
        let mut homeless = place.shell("");
        homeless.launch.folder = place.at("missing");
        assert_eq!(homeless.open().over().unwrap().kind(), "cannot_start");
        let mut unguarded = place.shell("");
        unguarded.omx = place.at("missing");
        assert_eq!(unguarded.open().over().unwrap().kind(), "cannot_start");
        await_condition("all is given back", DEADLINE, || open_files_and_threads() == before);
    });
}

/// An end command works too, even if the program ignores everything: in time and
/// without a failure.
#[test]
fn ending_works_whatever_the_program_does() {
    for script in [
        "trap '' HUP INT TERM; while :; do sleep 0.1; done",
        "kill -STOP $$",
        "exec yes garbage",
        "exec yes '{\"x\":1}'",
        "exec sleep 1000",
        "exec >&-; exec sleep 1000",
        "exit 7",
    ] {
        let place = StandInFolder::new();
        let mut conversation = place.shell(script).limits(LIMITS).open();
        let begun = Instant::now();
        conversation.agent.end();
        assert_eq!(conversation.over(), None, "{script}");
        let took = begun.elapsed();
        assert!(place.processes().is_empty(), "{script}: {:#?}", place.processes());
        assert!(took < LIMITS.end + Duration::from_secs(20), "{script}: {took:?}");
    }
}

/// A program that exits on request causes no delay.
#[test]
fn a_cooperative_program_ends_at_once() {
    let place = StandInFolder::new();
    let limits = AgentLimits { end: Duration::from_secs(60), ..PATIENT };
    let mut conversation = place.shell(&format!("{STARTED}; cat >/dev/null")).limits(limits).open();
    conversation.started();
    let begun = Instant::now();
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    assert!(begun.elapsed() < limits.end / 2, "{:?}", begun.elapsed());
}

pub const STARTED: &str = "echo '{\"started\":true}'";

/// The most memory this process has ever used, in bytes.
fn most_memory() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

#[test]
fn program_output_takes_bounded_memory() {
    apart(|| {
        for script in [
            // Both faster than any reader.
            "exec yes '{\"x\":1}'",
            "exec tr '\\0' '\\n' </dev/zero",
            "exec tr '\\0' x </dev/zero",
            "exec yes complaint >&2",
            "head -c 100000000 /dev/zero | tr '\\0' x; exec sleep 1000",
        ] {
            let place = StandInFolder::new();
            let before = most_memory();
            let mut conversation = place.shell(script).limits(LIMITS).open();
            let why = conversation.over().unwrap();
            let more = most_memory() - before;
            assert!(more < 24 << 20, "{script}: {more} bytes more, {why}");
        }
    });
}

/// Standard error is not part of the protocol: it neither blocks nor ends a program.
#[test]
fn a_program_that_writes_to_stderr_forever_works() {
    let place = StandInFolder::new();
    let script = format!(
        "yes complaint >&2 & {STARTED}; read -r line; echo '{{\"answer\":\"done\"}}'; cat >/dev/null"
    );
    let mut conversation = place.shell(&script).limits(LIMITS).open();
    conversation.started();
    conversation.agent.send(AgentMessage::text("do"));
    conversation.until("the answer", |event| matches!(event, AgentEvent::TurnFinished(_)));
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    assert!(place.processes().is_empty(), "{:#?}", place.processes());
}

/// Slow is not silent: each line is a sign of life.
#[test]
fn a_program_that_makes_progress_is_not_ended() {
    let place = StandInFolder::new();
    let script = format!(
        "{STARTED}; read -r line; for i in 1 2 3 4 5 6 7 8; do echo '{{\"x\":1}}'; sleep 0.6; done; \
         echo '{{\"answer\":\"done\"}}'; cat >/dev/null"
    );
    let mut conversation = place.shell(&script).limits(LIMITS).open();
    conversation.started();
    let begun = Instant::now();
    conversation.agent.send(AgentMessage::text("do"));
    conversation.until("the answer", |event| matches!(event, AgentEvent::TurnFinished(_)));
    assert!(begun.elapsed() > LIMITS.silence, "too quick to show anything");
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
}

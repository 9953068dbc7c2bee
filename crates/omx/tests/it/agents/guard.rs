//! Nothing outlives a run (conductor.md 1.3): whatever an agent's children do to
//! escape, they are dead when the end is reported, however the run ended.

use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use omx_agents::{Agent, AgentEvent, AgentMessage};
use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};

use super::stage::OMX;
use super::stand_in::{
    DEADLINE, StandIn, StandInConversation, StandInFolder, apart, on_a_terminal,
    open_files_and_threads, role, second_self,
};

/// The longest that any ending may take.
const AT_MOST: Duration = Duration::from_secs(12);
/// The time it takes to kill stubborn children: INT, TERM and KILL are a second
/// apart, and the agent has a moment to exit on its own.
const USUALLY: Duration = Duration::from_secs(7);

const STARTED: &str = "echo '{\"started\":true}'";

/// A process without marker, session or parents that holds every pipe.
const STRANGER: &str = "( env -i setsid sh -c 'echo $$ > stranger; exec sleep 1000' <&0 & ); \
    until test -s stranger; do sleep 0.01; done";

/// An agent that starts every kind of child that escapes a careless owner, reports
/// that it is ready, and then reads commands until it is killed. Each child records
/// under its name that it runs. All of them hold one lock.
const ZOO: &str = r#"
exec 9> lock; flock 9
mkdir kids
up='echo $$ > kids/$0'
stay='while :; do sleep 0.1; done'
deaf="trap '' HUP INT QUIT TERM"
setsid sh -c "$up; exec sleep 1000" session </dev/null >/dev/null 2>&1 &
( ( sh -c "$up; exec sleep 1000" orphan >/dev/null 2>&1 & ) & )
sh -c "$deaf; $up; $stay" deaf &
bash -c 'set -m; sh -c "$1" group & wait' - "$up; exec sleep 1000" &
sh -c "$deaf; $up; while :; do sleep 1000 & sleep 0.02; done" breeder >/dev/null 2>&1 &
setsid sh -c "$deaf; $up; $stay" pipes <&0 &
sh -c "$up; kill -STOP \$\$" stopped &
env -i sh -c "PATH=$PATH; $up; exec sleep 1000" bare &
( ( setsid sh -c "$deaf; $up; $stay" worst & ) & )
for name in session orphan deaf group breeder pipes stopped bare worst; do
  until test -s kids/$name; do sleep 0.01; done
done
echo '{"started":true}'
"#;

/// Reads commands and ignores everything else, even the end of its input.
const OBEY: &str = r#"
trap '' HUP INT QUIT TERM
while read -r line; do
  case "$line" in
    *interrupt*) echo '{"stopped":true}' ;;
    *leave*) exit 3 ;;
  esac
done
while :; do sleep 0.1; done
"#;

fn zoo(folder: &Path) -> StandIn {
    StandIn::shell(folder, &format!("{ZOO}{OBEY}"))
}

/// The agent and all its children are running.
fn opened(place: &StandInFolder) -> StandInConversation {
    let mut conversation = zoo(&place.folder()).open();
    conversation.started();
    assert!(place.processes().len() > 12, "{:#?}", place.processes());
    conversation
}

/// The event comes in time, and then no process is left.
#[track_caller]
fn nothing_left(place: &StandInFolder, begun: Instant, at_most: Duration) {
    let took = begun.elapsed();
    let left = place.processes();
    assert!(left.is_empty(), "outlived the end: {left:#?}");
    // Including those that are too short-lived to be seen.
    let lock = fs::File::open(place.at("lock")).unwrap();
    assert!(lock.try_lock().is_ok(), "something holds the lock");
    assert!(took < at_most, "it took {took:?}");
}

fn kill(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

#[test]
fn ending_a_conversation_leaves_no_process() {
    let place = StandInFolder::new();
    let mut conversation = opened(&place);
    let begun = Instant::now();
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    nothing_left(&place, begun, USUALLY);
}

#[test]
fn an_interrupt_and_an_end_leave_nothing_running() {
    let place = StandInFolder::new();
    let mut conversation = opened(&place);
    conversation.agent.send(AgentMessage::text("work"));
    conversation.agent.interrupt();
    conversation.until("the turn is over", |event| *event == AgentEvent::TurnInterrupted);
    let begun = Instant::now();
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    nothing_left(&place, begun, USUALLY);
}

#[test]
fn dropping_a_conversation_leaves_no_process() {
    let place = StandInFolder::new();
    let StandInConversation { agent, events, .. } = opened(&place);
    let begun = Instant::now();
    drop(agent);
    let end = events.iter().last();
    assert_eq!(end, Some(AgentEvent::Ended(None)));
    nothing_left(&place, begun, USUALLY);
}

#[test]
fn an_agent_that_exits_leaves_no_process() {
    let place = StandInFolder::new();
    let mut conversation = opened(&place);
    let begun = Instant::now();
    conversation.agent.send(AgentMessage::text("leave"));
    let why = conversation.over().unwrap();
    nothing_left(&place, begun, USUALLY);
    assert_eq!(why.kind(), "crashed", "{why}");
    assert!(why.to_string().contains("code 3"), "{why}");
    assert!(conversation.seen.contains(&AgentEvent::TurnFailed(why)), "{:#?}", conversation.seen);
}

#[test]
fn a_killed_agent_leaves_no_process() {
    let place = StandInFolder::new();
    let mut conversation = opened(&place);
    let agent = place.agent();
    let begun = Instant::now();
    kill(agent, Signal::KILL);
    let why = conversation.over().unwrap();
    nothing_left(&place, begun, USUALLY);
    assert_eq!(why.kind(), "crashed", "{why}");
}

/// The last resort: the marker in the environment, and descendants of such processes.
#[test]
fn a_killed_guard_leaves_no_process() {
    let place = StandInFolder::new();
    let mut conversation = opened(&place);
    let begun = Instant::now();
    kill(place.guard(), Signal::KILL);
    let why = conversation.over().unwrap();
    nothing_left(&place, begun, USUALLY);
    assert_eq!(why.kind(), "crashed", "{why}");
}

/// Even processes that only the guard can find: no marker, no session, no parents.
#[test]
fn a_signalled_guard_ends_its_tree_first() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let place = StandInFolder::new();
        let script = format!("exec 9> lock; flock 9; {STRANGER}; {STARTED}; exec sleep 1000");
        let mut conversation = place.shell(&script).open();
        conversation.started();
        let begun = Instant::now();
        kill(place.guard(), signal);
        let why = conversation.over().unwrap();
        nothing_left(&place, begun, USUALLY);
        assert_eq!(why.kind(), "crashed", "{why}");
    }
}

#[test]
fn a_stopped_guard_is_continued_to_end_its_tree() {
    let place = StandInFolder::new();
    let mut conversation = opened(&place);
    kill(place.guard(), Signal::STOP);
    let begun = Instant::now();
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    nothing_left(&place, begun, USUALLY);
}

/// Each one starts the next and exits: none lives long enough to be seen twice.
#[test]
fn a_chain_of_forking_children_is_ended() {
    let place = StandInFolder::new();
    // It ends on its own after a minute, should it ever escape.
    let chain = r#"trap '' HUP INT TERM; exec 9> lock; flock 9
        perl -e '$end = time + 60; while (time < $end) { exit if fork }'
        echo '{"started":true}'; exec sleep 1000"#;
    let mut conversation = place.shell(chain).open();
    conversation.started();
    let begun = Instant::now();
    conversation.agent.end();
    assert_eq!(conversation.over(), None);
    nothing_left(&place, begun, USUALLY);
}

/// A guard that may not signal its children cannot end them; it reports that
/// instead of success.
#[test]
fn processes_that_cannot_be_ended_are_reported() {
    let place = StandInFolder::new();
    let powerless = place.at("powerless");
    let (calls, fault) = ("kill,pidfd_send_signal", "error=EPERM");
    let strace = format!("strace --output=/dev/null --trace={calls} --inject={calls}:{fault}");
    let line = format!("exec {strace} {OMX} \"$@\"");
    omx_testkit::write_program(&powerless, &format!("#!/bin/sh\n{line}\n"));
    let mut program = place.shell(&format!("sleep 1000 & sleep 1000 & {STARTED}; cat"));
    program.omx = powerless;
    let mut conversation = program.open();
    conversation.started();
    let begun = Instant::now();
    conversation.agent.end();
    let why = conversation.over().unwrap();
    assert!(begun.elapsed() < AT_MOST, "{:?}", begun.elapsed());
    assert_eq!(why.kind(), "outlived", "{why}");
    assert!(why.to_string().starts_with("2 processes started by"), "{why}");
    let left = place.processes();
    assert_eq!(left.len(), 2, "{left:#?}");
    left.into_keys().for_each(|pid| kill(pid, Signal::KILL));
}

/// A process that nothing identifies may survive; it must not delay the end,
/// although it holds every pipe.
#[test]
fn an_unrelated_holder_of_the_pipes_delays_nothing() {
    apart(|| {
        let place = StandInFolder::new();
        let before = open_files_and_threads();
        let script = format!("{STRANGER}; {STARTED}; exec sleep 1000");
        let mut conversation = place.shell(&script).open();
        conversation.started();
        // More than a pipe holds, so that a write is pending too.
        conversation.agent.send(AgentMessage::text("do ".repeat(350_000)));
        let begun = Instant::now();
        kill(place.guard(), Signal::KILL);
        assert_eq!(conversation.over().unwrap().kind(), "crashed");
        assert!(begun.elapsed() < USUALLY, "{:?}", begun.elapsed());
        await_condition("all is given back", DEADLINE, || open_files_and_threads() == before);
        let left = place.processes();
        assert_eq!(left.len(), 1, "{left:#?}");
        left.into_keys().for_each(|pid| kill(pid, Signal::KILL));
    });
}

/// The driving process: opens a conversation and keeps it until it is killed.
fn drive(folder: &Path) {
    let mut conversation = zoo(folder).open();
    conversation.started();
    fs::write(folder.join("driving"), "").unwrap();
    let over = conversation.over();
    panic!("over by itself: {over:?}");
}

/// Waits until the other process drives, disturbs it, and checks that every process
/// ends.
#[track_caller]
fn gone_after(place: &StandInFolder, what: impl FnOnce()) {
    await_condition("it drives", DEADLINE, || place.at("driving").exists());
    assert!(place.processes().len() > 12, "{:#?}", place.processes());
    let begun = Instant::now();
    what();
    await_condition("nothing is left", AT_MOST, || place.processes().is_empty());
    nothing_left(place, begun, USUALLY);
}

/// Even if it has only just started.
#[test]
fn a_driving_process_killed_at_any_moment_leaves_no_process() {
    if let Some(folder) = role() {
        fs::write(folder.join("begun"), "").unwrap();
        let script = format!("setsid sleep 1000 & {STARTED}; exec sleep 1000");
        let mut conversation = StandIn::shell(&folder, &script).open();
        panic!("over by itself: {:?}", conversation.over());
    }
    let mut opened = 0;
    for round in 0..24 {
        let place = StandInFolder::new();
        let mut command = second_self(&|| (), &place.folder());
        let mut driving = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        await_condition("it begins", DEADLINE, || place.at("begun").exists());
        // No condition to wait for: the point is to hit every moment in between.
        std::thread::sleep(Duration::from_millis(round));
        opened += usize::from(!place.processes().is_empty());
        driving.kill().unwrap();
        driving.wait().unwrap();
        await_condition("nothing is left", USUALLY, || place.processes().is_empty());
    }
    assert!(opened > 5, "{opened} rounds had something to leave behind");
}

#[test]
fn a_killed_driving_process_leaves_no_process() {
    if let Some(folder) = role() {
        return drive(&folder);
    }
    let place = StandInFolder::new();
    let mut driving = second_self(&|| (), &place.folder()).stdin(Stdio::null()).spawn().unwrap();
    gone_after(&place, || driving.kill().unwrap());
    driving.wait().unwrap();
}

/// Ctrl-C on a terminal goes to the whole foreground group: it ends the driving
/// process and reaches no agent.
#[test]
fn ctrl_c_on_a_terminal_leaves_no_process() {
    if let Some(folder) = role() {
        return drive(&folder);
    }
    let place = StandInFolder::new();
    let mut script = on_a_terminal(&second_self(&|| (), &place.folder()));
    let mut keyboard = script.stdin.take().unwrap();
    await_condition("it drives", DEADLINE, || place.at("driving").exists());
    for (pid, line) in place.processes() {
        assert_eq!(terminal_of(pid), 0, "{line} has a terminal");
    }
    gone_after(&place, || keyboard.write_all(b"\x03").unwrap());
    let status = script.wait().unwrap();
    assert_eq!(status.code(), Some(130), "SIGINT ended it");
}

/// Closing a terminal ends only the driving process.
#[test]
fn closing_the_terminal_leaves_no_process() {
    if let Some(folder) = role() {
        return drive(&folder);
    }
    let place = StandInFolder::new();
    let mut script = on_a_terminal(&second_self(&|| (), &place.folder()));
    gone_after(&place, || script.kill().unwrap());
    script.wait().unwrap();
}

/// The number of a process's terminal; 0 is none.
fn terminal_of(pid: i32) -> i32 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0 };
    let fields = stat.rsplit(')').next().unwrap();
    fields.split_whitespace().nth(4).unwrap().parse().unwrap()
}

/// Killing the whole process group does not kill the guard.
#[test]
fn killing_the_driving_process_group_leaves_no_process() {
    if let Some(folder) = role() {
        return drive(&folder);
    }
    let place = StandInFolder::new();
    let mut command = second_self(&|| (), &place.folder());
    let mut driving = command.process_group(0).stdin(Stdio::null()).spawn().unwrap();
    gone_after(&place, || {
        let group = Pid::from_child(&driving);
        rustix::process::kill_process_group(group, Signal::KILL).unwrap();
    });
    driving.wait().unwrap();
}

//! Nothing outlives a run (conductor.md 1.3), with the real programs: a tool call
//! whose processes try to escape, ended in every way.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use omx_agents::{Agent, AgentEvent, AgentMessage};
use omx_testkit::await_condition;
use rustix::process::{Pid, Signal, kill_process};

use super::conversation::{DEADLINE, TestConversation, TestTurnEnd};
use super::play::{AgentPlay, PlayStep, cue};
use super::stage::{DriverStage, OMX};
use super::stand_in::on_a_terminal;
use super::suite_failures::agent_processes;
use super::suite_results::{ChildGuard, omx_ask, start_omx_ask};

/// The longest that any ending may take.
const AT_MOST: Duration = Duration::from_secs(12);

/// One that left the session, one that lost its parents, both ignoring signals, and
/// a command that does not end. All of them hold one lock while they live.
const WILD: &str = "exec 9>lock; flock 9; \
    (setsid sh -c 'trap : HUP INT TERM; touch far; while :; do sleep 0.1; done' \
    >/dev/null 2>&1 </dev/null &); \
    ( ( sh -c 'trap : HUP INT TERM; touch lost; while :; do sleep 0.1; done' \
    >/dev/null 2>&1 </dev/null & ) & ); \
    until test -e far && test -e lost; do sleep 0.05; done; touch up; \
    while :; do sleep 0.1; done";

fn wild<S: DriverStage>() -> S {
    let wild = AgentPlay::new("wild", [PlayStep::Shell(WILD), PlayStep::Say("never")]);
    S::with(vec![wild, AgentPlay::new("after", [PlayStep::Say("still here")])])
}

/// The command and its children are alive: the lock is held.
fn is_up(stage: &impl DriverStage) -> bool {
    stage.root().join("up").exists() && !is_gone(stage)
}

/// No process that held the lock is left.
fn is_gone(stage: &impl DriverStage) -> bool {
    File::open(stage.root().join("lock")).unwrap().try_lock().is_ok()
}

/// A conversation inside the tool call.
fn conversation_in_tool_call(stage: &impl DriverStage) -> TestConversation {
    let mut chat = TestConversation::new(stage);
    chat.agent.send(AgentMessage::text(cue("wild")));
    chat.until("the tool runs", |event| matches!(event, AgentEvent::ToolStarted { .. }));
    await_condition("all are up", DEADLINE, || {
        // The command may have to be allowed first.
        chat.answer_what_waits();
        is_up(stage)
    });
    chat
}

#[track_caller]
fn nothing_left(stage: &impl DriverStage, begun: Instant) {
    let took = begun.elapsed();
    assert!(is_gone(stage), "a command outlived it: {:#?}", agent_processes(stage));
    assert_eq!(agent_processes(stage), BTreeMap::new());
    assert!(took < AT_MOST, "it took {took:?}");
}

pub fn ending_during_a_tool_leaves_no_process<S: DriverStage>() {
    let stage = wild::<S>();
    let mut chat = conversation_in_tool_call(&stage);
    let begun = Instant::now();
    chat.agent.end();
    assert_eq!(chat.over(), None);
    nothing_left(&stage, begun);
    assert!(chat.seen.contains(&AgentEvent::TurnInterrupted), "{:#?}", chat.seen);
}

pub fn an_interrupt_and_an_end_leave_no_process<S: DriverStage>() {
    let stage = wild::<S>();
    let mut chat = conversation_in_tool_call(&stage);
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    let begun = Instant::now();
    assert_eq!(chat.end(), None);
    nothing_left(&stage, begun);
}

/// Where the driver ensures it, processes a command left behind end with its turn.
pub fn an_interrupt_leaves_no_runaway<S: DriverStage>() {
    let stage = wild::<S>();
    let mut chat = conversation_in_tool_call(&stage);
    chat.agent.interrupt();
    assert_eq!(chat.turn_end(), TestTurnEnd::Interrupted);
    await_condition("no command is left", AT_MOST, || is_gone(&stage));
    assert_eq!(chat.turn(&cue("after")).text(), "still here");
    let begun = Instant::now();
    assert_eq!(chat.end(), None);
    nothing_left(&stage, begun);
}

pub fn a_killed_agent_leaves_no_runaway<S: DriverStage>() {
    let stage = wild::<S>();
    let mut chat = conversation_in_tool_call(&stage);
    // A child of the guard alone.
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", guard(&stage)));
    let agent = children.unwrap().split_whitespace().next().unwrap().parse().unwrap();
    let begun = Instant::now();
    kill(agent);
    assert_eq!(chat.over().map(|failure| failure.kind()), Some("crashed"));
    nothing_left(&stage, begun);
}

pub fn a_killed_guard_leaves_no_runaway<S: DriverStage>() {
    let stage = wild::<S>();
    let mut chat = conversation_in_tool_call(&stage);
    let begun = Instant::now();
    kill(guard(&stage));
    assert_eq!(chat.over().map(|failure| failure.kind()), Some("crashed"));
    nothing_left(&stage, begun);
}

pub fn a_killed_omx_leaves_no_runaway<S: DriverStage>() {
    let stage = wild::<S>();
    let (mut running, _) = start_omx_ask(&stage, S::KIND.as_str(), &cue("wild"));
    await_condition("all are up", DEADLINE, || is_up(&stage));
    let begun = Instant::now();
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    await_condition("nothing of it is left", AT_MOST, || {
        is_gone(&stage) && agent_processes(&stage).is_empty()
    });
    nothing_left(&stage, begun);
}

pub fn ctrl_c_leaves_no_runaway<S: DriverStage>() {
    pressed::<S>(b"\x03");
}

pub fn ctrl_c_twice_leaves_no_runaway<S: DriverStage>() {
    pressed::<S>(b"\x03\x03");
}

/// `omx ask` on a terminal with key presses: it ends on its own and leaves no process.
fn pressed<S: DriverStage>(keys: &[u8]) {
    let stage = wild::<S>();
    let mut command = omx_ask(&stage, S::KIND.as_str(), &[&cue("wild")]);
    command.stdin(Stdio::piped());
    let mut running = ChildGuard(on_a_terminal(&command));
    let mut keyboard = running.0.stdin.take().unwrap();
    await_condition("all are up", DEADLINE, || is_up(&stage));
    let begun = Instant::now();
    keyboard.write_all(keys).unwrap();
    let status = running.0.wait().unwrap();
    nothing_left(&stage, begun);
    assert_eq!(status.code(), Some(130));
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

/// The guard of the only agent of a stage.
#[track_caller]
fn guard(stage: &impl DriverStage) -> i32 {
    let guards = super::stand_in::processes_in(&stage.root());
    let mut guards =
        guards.into_iter().filter(|(_, line)| line.starts_with(&format!("{OMX} guard")));
    match (guards.next(), guards.next()) {
        (Some((pid, _)), None) => pid,
        other => panic!("not one guard: {other:?}"),
    }
}

//! The protocol of an agent's program: a pure state machine between commands
//! and lines.

use std::time::Instant;

pub use omx_process::{Confinement, Launch};
use serde_json::Value;

use crate::agent::AgentCommand;
use crate::event::AgentEvent;
use crate::failure::Failure;

/// How a process ended, with the last lines of its standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExit {
    /// The exit code; none after a signal, or if it is unknown.
    pub code: Option<i32>,
    /// The last lines of standard error.
    pub stderr: String,
}

/// An input of a protocol.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtocolEvent {
    /// A command from the owner of the conversation.
    Command(AgentCommand),
    /// One line of the program's standard output, parsed as JSON.
    Line(Value),
    /// The process of the last [`ProtocolEffect::Launch`] exited.
    Exited(AgentExit),
    /// The time returned by [`Protocol::next_tick`] has come.
    Tick,
}

/// An output of a protocol. Effects are carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtocolEffect {
    /// Start this process. A running process is terminated first; its
    /// remaining output and its exit are discarded.
    Launch(Launch),
    /// Write this as one line to the process's standard input.
    Write(Value),
    /// Write this text unchanged, for programs that read plain text.
    WriteText(String),
    /// Close the process's standard input, which asks it to exit.
    CloseInput,
    /// Terminate the process and everything it started, now. Its exit is
    /// reported as [`ProtocolEvent::Exited`].
    Stop,
    /// Emit an event. [`AgentEvent::Started`] is due after each launch; the
    /// owner receives only the first.
    Emit(AgentEvent),
    /// The conversation cannot continue: terminate the process and report why.
    Fail(Failure),
}

/// The rules of one program's protocol. Pure: no clock, no process, no file.
/// The loop that runs it enforces the deadlines for starting, silence,
/// interrupting and ending; a protocol enforces those of its own requests.
pub trait Protocol: Send {
    /// The first effects, at least a launch.
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect>;
    /// Handles an input.
    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect>;
    /// Whether a commanded turn is running or waiting. The loop then expects
    /// output from the program.
    fn has_pending_turn(&self) -> bool;
    /// Handles a line of standard error. Few programs write anything there that
    /// their protocol does not report. Long lines are truncated.
    fn handle_stderr(&mut self, _line: &str, _now: Instant) -> Vec<ProtocolEffect> {
        Vec::new()
    }
    /// When the next [`ProtocolEvent::Tick`] is due, at the latest.
    fn next_tick(&self) -> Option<Instant>;
}

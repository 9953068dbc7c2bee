//! What a driver is made of: a pure machine between orders and lines.

use std::time::Instant;

pub use omx_process::Launch;
use serde_json::Value;

use crate::agent::AgentCommand;
use crate::event::AgentEvent;
use crate::failure::Failure;

/// How a process ended, with the last it wrote to standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentExit {
    /// The exit code; none if a signal ended it, or it could not be learnt.
    pub code: Option<i32>,
    /// The last lines of standard error.
    pub stderr: String,
}

/// What a protocol is told.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtocolEvent {
    /// An order of the owner.
    Command(AgentCommand),
    /// One line of the program's standard output: JSON.
    Line(Value),
    /// The process of the last [`Effect::Launch`] is gone.
    Exited(AgentExit),
    /// A moment asked for by [`Protocol::wake`] has come.
    Tick,
}

/// What a protocol wants done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum ProtocolEffect {
    /// Start this process. One that runs is ended first; what it still says
    /// is not told, and neither is its end.
    Launch(Launch),
    /// Write this as one line to the process.
    Write(Value),
    /// Write this to the process as it is: for programs that read plain words.
    WriteText(String),
    /// Close the process's standard input: the polite way to end it.
    CloseInput,
    /// End the process and all it started, now. Its end is told as
    /// [`Input::Exited`].
    Stop,
    /// Tell the owner. [`Event::Started`] is due after each launch; the owner is
    /// told once.
    Emit(AgentEvent),
    /// The conversation cannot go on: end the process and tell the owner.
    Fail(Failure),
}

/// The rules of one program's protocol. Pure: no clock, no process, no file.
/// Deadlines for starting, silence, interrupting and ending are kept by the
/// loop that runs it; a protocol keeps those of its own requests.
pub trait Protocol: Send {
    /// The first effects: at least a launch.
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect>;
    /// What follows from an input.
    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect>;
    /// Whether words were ordered whose turn is not over, also those that wait
    /// for the end of another: the loop then expects its program to go on.
    fn has_pending_turn(&self) -> bool;
    /// What follows from a line of standard error. Most programs say nothing
    /// there that their protocol does not say; a long line is cut.
    fn handle_stderr(&mut self, _line: &str, _now: Instant) -> Vec<ProtocolEffect> {
        Vec::new()
    }
    /// When it wants a [`Input::Tick`], at the latest.
    fn next_tick(&self) -> Option<Instant>;
}

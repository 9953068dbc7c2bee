//! How long anything may take. Nothing in this crate waits without one of these.

use std::time::Duration;

/// The deadlines of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimits {
    /// From the start of the process until the conversation is open.
    pub start: Duration,
    /// For the answer to a request of ours.
    pub request: Duration,
    /// Without a line from the program while a turn runs. Long commands of an
    /// agent are silent, so this is long.
    pub silence: Duration,
    /// From the order to interrupt until the turn is over.
    pub interrupt: Duration,
    /// From the order to end until the program has left by itself.
    pub end: Duration,
    /// For the program to take a line from its standard input.
    pub write: Duration,
    /// Bytes of one line; a longer one is not read.
    pub line: usize,
    /// Lines in a row that are not JSON.
    pub garbage: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(60),
            request: Duration::from_secs(30),
            silence: Duration::from_secs(30 * 60),
            interrupt: Duration::from_secs(5),
            end: Duration::from_secs(2),
            write: Duration::from_secs(30),
            line: 32 << 20,
            garbage: 1000,
        }
    }
}

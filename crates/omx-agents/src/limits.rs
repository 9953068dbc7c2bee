//! Deadlines and limits of a conversation. Nothing in this crate waits without
//! one of these deadlines.

use std::time::Duration;

/// The deadlines and limits of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentLimits {
    /// From the start of the process until the conversation is open.
    pub start: Duration,
    /// For the program's response to a request.
    pub request: Duration,
    /// Without output from the program while a turn is running. An agent's
    /// long commands print nothing, so this is long.
    pub silence: Duration,
    /// From the interrupt command until the turn is over.
    pub interrupt: Duration,
    /// From the end command until the program must have exited on its own.
    pub end: Duration,
    /// For the program to read a line from its standard input.
    pub write: Duration,
    /// Maximum length of a line, in bytes.
    pub line: usize,
    /// Maximum number of consecutive lines that are not JSON.
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

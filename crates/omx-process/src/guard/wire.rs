//! The words between omx and the guard: one a line.

use std::fmt;

/// What omx tells the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardCommand {
    /// End the tree, politely at first.
    Terminate,
    /// End the tree at once.
    Kill,
}

/// What the guard tells omx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardReport {
    /// The agent runs, with this process id.
    Running(u32),
    /// The agent could not be started, with the system's error number.
    CannotStart(i32),
    /// The agent ended, with its code; none after a signal.
    Exited(Option<i32>),
    /// Nothing of the tree is left.
    Gone,
    /// This many processes would not die.
    Left(usize),
}

impl fmt::Display for GuardCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Terminate => "end",
            Self::Kill => "kill",
        })
    }
}

impl GuardCommand {
    /// Understands a line.
    pub fn parse(line: &str) -> Option<Self> {
        match line {
            "end" => Some(Self::Terminate),
            "kill" => Some(Self::Kill),
            _ => None,
        }
    }
}

impl fmt::Display for GuardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running(pid) => write!(f, "running {pid}"),
            Self::CannotStart(number) => write!(f, "cannot-start {number}"),
            Self::Exited(Some(code)) => write!(f, "exited {code}"),
            Self::Exited(None) => write!(f, "exited signal"),
            Self::Gone => f.write_str("gone"),
            Self::Left(count) => write!(f, "left {count}"),
        }
    }
}

impl GuardReport {
    /// Understands a line.
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "running" => rest.parse().ok().map(Self::Running),
            "cannot-start" => rest.parse().ok().map(Self::CannotStart),
            "exited" if rest == "signal" => Some(Self::Exited(None)),
            "exited" => rest.parse().ok().map(|code| Self::Exited(Some(code))),
            "gone" => Some(Self::Gone),
            "left" => rest.parse().ok().map(Self::Left),
            _ => None,
        }
    }
}

//! The messages between omx and the guard, one per line.

use std::fmt;

/// A command from omx to the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardCommand {
    /// Terminate the tree: SIGINT, SIGTERM, SIGKILL.
    Terminate,
    /// Kill the tree at once.
    Kill,
}

/// A report from the guard to omx.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardReport {
    /// The program runs, with this pid.
    Running(u32),
    /// The program could not be started, with the system's error number.
    CannotStart(i32),
    /// The program was not started because it cannot be confined. The reason is on
    /// standard error.
    CannotConfine,
    /// The program exited with this code, or none if a signal killed it.
    Exited(Option<i32>),
    /// Nothing of the tree is left.
    Gone,
    /// This many processes could not be killed.
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
    /// Parses a line. `None` if it is no command.
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
            Self::CannotConfine => f.write_str("cannot-confine"),
            Self::Exited(Some(code)) => write!(f, "exited {code}"),
            Self::Exited(None) => write!(f, "exited signal"),
            Self::Gone => f.write_str("gone"),
            Self::Left(count) => write!(f, "left {count}"),
        }
    }
}

impl GuardReport {
    /// Parses a line. `None` if it is no report.
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "running" => rest.parse().ok().map(Self::Running),
            "cannot-start" => rest.parse().ok().map(Self::CannotStart),
            "cannot-confine" => Some(Self::CannotConfine),
            "exited" if rest == "signal" => Some(Self::Exited(None)),
            "exited" => rest.parse().ok().map(|code| Self::Exited(Some(code))),
            "gone" => Some(Self::Gone),
            "left" => rest.parse().ok().map(Self::Left),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_wire() {
        for command in [GuardCommand::Terminate, GuardCommand::Kill] {
            assert_eq!(GuardCommand::parse(&command.to_string()), Some(command));
        }
        let reports = [
            GuardReport::Running(7),
            GuardReport::CannotStart(2),
            GuardReport::CannotConfine,
            GuardReport::Exited(Some(3)),
            GuardReport::Exited(None),
            GuardReport::Gone,
            GuardReport::Left(2),
        ];
        for report in reports {
            assert_eq!(GuardReport::parse(&report.to_string()), Some(report));
        }
        assert_eq!(GuardReport::parse("exited soon"), None);
        assert_eq!(GuardCommand::parse("stop"), None);
    }
}

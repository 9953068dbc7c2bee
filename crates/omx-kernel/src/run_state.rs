//! The state of a run, and what it allows.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Why a process stopped driving a run, as the run's journal says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// The workflow reached its goal.
    Complete,
    /// Something broke, or the workflow gave up.
    Failed,
    /// The iterations are used up.
    Limit,
    /// Tokens, money or time are used up.
    Budget,
    /// It needs the person.
    BlockedOnUser,
    /// It was cancelled.
    Cancelled,
    /// Its process was asked to end.
    Interrupted,
}

impl CloseReason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::Complete,
        Self::Failed,
        Self::Limit,
        Self::Budget,
        Self::BlockedOnUser,
        Self::Cancelled,
        Self::Interrupted,
    ];

    /// The reason as a word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Budget => "budget",
            Self::BlockedOnUser => "blocked_on_user",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the run has its final outcome, so that retention may remove it. The others
    /// wait for the person.
    fn is_final(self) -> bool {
        match self {
            Self::Complete | Self::Failed | Self::Limit | Self::Cancelled => true,
            Self::Budget | Self::BlockedOnUser | Self::Interrupted => false,
        }
    }
}

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Cow<'_, str>")]
pub enum RunState {
    /// A process drives it.
    Running,
    /// The process that drove it was killed before it could record a reason.
    Stopped,
    /// The process that drove it recorded this reason.
    Closed(CloseReason),
}

impl RunState {
    /// The state of a run with a final result.
    pub const COMPLETE: Self = Self::Closed(CloseReason::Complete);

    /// The state as a word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Stopped => "stopped",
            Self::Closed(reason) => reason.as_str(),
        }
    }

    /// Whether a resume has anything to do.
    pub fn is_resumable(self) -> bool {
        self != Self::Running && self != Self::COMPLETE
    }

    /// Whether retention may remove the run.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Closed(reason) if reason.is_final())
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for RunState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl TryFrom<Cow<'_, str>> for RunState {
    type Error = String;

    fn try_from(word: Cow<'_, str>) -> Result<Self, String> {
        let closed = CloseReason::ALL.map(Self::Closed);
        let mut states = [Self::Running, Self::Stopped].into_iter().chain(closed);
        states.find(|state| state.as_str() == word).ok_or_else(|| format!("no run is {word:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_gives_its_state_back() {
        let closed = CloseReason::ALL.map(RunState::Closed);
        for state in [RunState::Running, RunState::Stopped].into_iter().chain(closed) {
            let word = serde_json::to_string(&state).unwrap();
            assert_eq!(serde_json::from_str::<RunState>(&word).unwrap(), state, "{word}");
        }
        for reason in CloseReason::ALL {
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
        assert!(serde_json::from_str::<RunState>("\"done\"").is_err());
    }

    #[test]
    fn only_a_run_that_neither_works_nor_is_complete_is_resumable() {
        assert!(!RunState::Running.is_resumable());
        assert!(!RunState::COMPLETE.is_resumable());
        assert!(RunState::Stopped.is_resumable());
        for reason in CloseReason::ALL.into_iter().skip(1) {
            assert!(RunState::Closed(reason).is_resumable(), "{reason:?}");
        }
    }
}

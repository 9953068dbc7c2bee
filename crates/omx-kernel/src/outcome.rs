//! The outcome of a run, with the spellings that other programs use.

use crate::mode::quote;
use crate::refusal::{Refusal, RefusalCode};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunEnding {
    /// It met its exit condition.
    Finished,
    /// Only the person can unblock it.
    Blocked,
    /// It failed or reached a limit.
    Failed,
    /// It was cancelled.
    Cancelled,
}

impl RunEnding {
    /// The value of `run_outcome`.
    pub const fn run_outcome(self) -> &'static str {
        match self {
            Self::Finished => "finish",
            Self::Blocked => "blocked_on_user",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The value of `lifecycle_outcome`.
    pub const fn lifecycle_outcome(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The value of `run_outcome`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentOutcome {
    /// The run continues.
    Continue,
    /// The run continues and has made progress.
    Progress,
    /// The run has ended.
    Ended(RunEnding),
}

impl DocumentOutcome {
    /// Parses an outcome in any known spelling.
    pub fn parse(word: &str) -> Result<Self, Refusal> {
        match word {
            "continue" => Ok(Self::Continue),
            "progress" => Ok(Self::Progress),
            _ => ending_of_outcome(word).map(Self::Ended).ok_or_else(|| {
                Refusal::new(
                    RefusalCode::InvalidOutcome,
                    format!(
                        "run_outcome {} is unknown; it is continue, progress, finish, blocked_on_user, failed or cancelled",
                        quote(word)
                    ),
                )
            }),
        }
    }

    /// The stored spelling.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Progress => "progress",
            Self::Ended(ending) => ending.run_outcome(),
        }
    }
}

/// Parses `lifecycle_outcome` in any known spelling.
pub fn parse_lifecycle(word: &str) -> Result<RunEnding, Refusal> {
    let ending = match word {
        "userinterlude" => Some(RunEnding::Cancelled),
        "askuserQuestion" => Some(RunEnding::Blocked),
        _ => ending_of_outcome(word),
    };
    ending.ok_or_else(|| {
        Refusal::new(
            RefusalCode::InvalidOutcome,
            format!(
                "lifecycle_outcome {} is unknown; it is finished, blocked, failed or cancelled",
                quote(word)
            ),
        )
    })
}

fn ending_of_outcome(word: &str) -> Option<RunEnding> {
    Some(match word {
        "finish" | "finished" | "complete" | "completed" | "done" => RunEnding::Finished,
        "blocked_on_user" | "blocked" => RunEnding::Blocked,
        "failed" | "fail" | "error" => RunEnding::Failed,
        "cancelled" | "canceled" | "cancel" | "aborted" | "abort" => RunEnding::Cancelled,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_2_4_spelling_variants_are_normalized() {
        let table = [
            ("finish", &["finish", "finished", "complete", "completed", "done"][..]),
            ("blocked_on_user", &["blocked_on_user", "blocked"]),
            ("failed", &["failed", "fail", "error"]),
            ("cancelled", &["cancelled", "canceled", "cancel", "aborted", "abort"]),
            ("continue", &["continue"]),
            ("progress", &["progress"]),
        ];
        for (stored, spellings) in table {
            for spelling in spellings {
                assert_eq!(DocumentOutcome::parse(spelling).unwrap().as_str(), stored);
            }
        }
        assert_eq!(parse_lifecycle("userinterlude").unwrap().lifecycle_outcome(), "cancelled");
        assert_eq!(parse_lifecycle("askuserQuestion").unwrap().lifecycle_outcome(), "blocked");
        assert_eq!(parse_lifecycle("done").unwrap().lifecycle_outcome(), "finished");
        assert_eq!(DocumentOutcome::parse("bogus").unwrap_err().code, RefusalCode::InvalidOutcome);
        assert_eq!(parse_lifecycle("continue").unwrap_err().code, RefusalCode::InvalidOutcome);
    }
}

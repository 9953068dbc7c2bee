//! How a run stands and how it ended, with the spellings that other programs use.

use crate::mode::quote;
use crate::refusal::{Refusal, RefusalCode};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunEnding {
    /// Its exit condition was met.
    Finished,
    /// Only the person can get it further.
    Blocked,
    /// It failed, or a limit was reached.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl RunEnding {
    /// The word in `run_outcome`.
    pub const fn run_outcome(self) -> &'static str {
        match self {
            Self::Finished => "finish",
            Self::Blocked => "blocked_on_user",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The word in `lifecycle_outcome`.
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
pub enum RunOutcome {
    /// Goes on.
    Continue,
    /// Goes on, and got somewhere: accepted and kept.
    Progress,
    /// Over.
    Ended(RunEnding),
}

impl RunOutcome {
    /// Reads an outcome in any of its known spellings.
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

    /// The word that is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Progress => "progress",
            Self::Ended(ending) => ending.run_outcome(),
        }
    }
}

/// Reads `lifecycle_outcome` in any of its known spellings.
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
    fn state_2_4_spelling_variants_are_normalised() {
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
                assert_eq!(RunOutcome::parse(spelling).unwrap().as_str(), stored);
            }
        }
        assert_eq!(parse_lifecycle("userinterlude").unwrap().lifecycle_outcome(), "cancelled");
        assert_eq!(parse_lifecycle("askuserQuestion").unwrap().lifecycle_outcome(), "blocked");
        assert_eq!(parse_lifecycle("done").unwrap().lifecycle_outcome(), "finished");
        assert_eq!(RunOutcome::parse("bogus").unwrap_err().code, RefusalCode::InvalidOutcome);
        assert_eq!(parse_lifecycle("continue").unwrap_err().code, RefusalCode::InvalidOutcome);
    }
}

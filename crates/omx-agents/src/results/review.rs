//! Reviews: each lane returns a verdict in its own words, with findings.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::problem::ResultProblem;
use super::read::{objects, variant_name};
use super::text::{NonBlankText, optional};

/// What one reviewer reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReviewResult {
    /// The lane of the reviewer.
    #[serde(deserialize_with = "variant_name")]
    pub lane: ReviewLane,
    /// The verdict, in the words of the lane.
    #[serde(deserialize_with = "variant_name")]
    pub verdict: LaneVerdict,
    /// What has to change; empty if nothing has.
    #[serde(deserialize_with = "objects")]
    pub findings: Vec<ReviewFinding>,
    /// What was reviewed, and what the verdict rests on.
    pub summary: NonBlankText,
}

/// Something that has to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ReviewFinding {
    /// What is wrong. Keep the wording the same from round to round.
    pub title: NonBlankText,
    /// The file that shows it, relative to the project folder; null if there is none.
    #[serde(default, deserialize_with = "optional")]
    pub file: Option<NonBlankText>,
    /// The line in that file, counted from 1; null if there is none.
    pub line: Option<NonZeroU32>,
    /// How serious it is.
    #[serde(deserialize_with = "variant_name")]
    pub severity: Severity,
    /// What happens, what should happen, and how to fix it.
    pub detail: String,
}

/// A reviewer's field of attention.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReviewLane {
    /// Whether the code is correct.
    Code,
    /// Whether the structure is sound.
    Architect,
    /// Whether a plan can be carried out.
    Critic,
}

impl ReviewLane {
    /// Its name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Architect => "architect",
            Self::Critic => "critic",
        }
    }
}

/// How serious a finding is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The work cannot be accepted with it.
    Blocker,
    /// It causes real harm.
    Major,
    /// It is small, but real.
    Minor,
}

impl Severity {
    /// Its name in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocker => "blocker",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }
}

/// The verdict of a lane. The architect's lane of a code review has words of
/// its own: `CLEAR`, `WATCH` and `BLOCK`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum LaneVerdict {
    /// Accept the work.
    #[serde(rename = "APPROVE")]
    Approve,
    /// Accept the work after discussion.
    #[serde(rename = "COMMENT")]
    Comment,
    /// Reject the work until it changes.
    #[serde(rename = "REQUEST CHANGES")]
    RequestChanges,
    /// The structure is sound.
    #[serde(rename = "CLEAR")]
    Clear,
    /// The structure needs attention.
    #[serde(rename = "WATCH")]
    Watch,
    /// The structure is broken.
    #[serde(rename = "BLOCK")]
    Block,
}

impl LaneVerdict {
    /// The word in results.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "APPROVE",
            Self::Comment => "COMMENT",
            Self::RequestChanges => "REQUEST CHANGES",
            Self::Clear => "CLEAR",
            Self::Watch => "WATCH",
            Self::Block => "BLOCK",
        }
    }

    /// Whether it is the best verdict of its lane.
    pub const fn is_favorable(self) -> bool {
        matches!(self, Self::Approve | Self::Clear)
    }
}

/// Which review is asked for: it fixes the lane and its verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReviewKind {
    /// The code lane of a code review.
    Code,
    /// The architect's lane of a code review.
    ArchitectInCodeReview,
    /// The architect's review of a plan or of finished work.
    Architect,
    /// The critic's review of a plan.
    Critic,
}

impl ReviewKind {
    /// All kinds.
    pub const ALL: [Self; 4] =
        [Self::Code, Self::ArchitectInCodeReview, Self::Architect, Self::Critic];

    /// The lane of the reviewer.
    pub const fn lane(self) -> ReviewLane {
        match self {
            Self::Code => ReviewLane::Code,
            Self::ArchitectInCodeReview | Self::Architect => ReviewLane::Architect,
            Self::Critic => ReviewLane::Critic,
        }
    }

    /// The verdicts of this kind, best first.
    pub const fn verdicts(self) -> [LaneVerdict; 3] {
        use LaneVerdict::{Approve, Block, Clear, Comment, RequestChanges, Watch};
        match self {
            Self::ArchitectInCodeReview => [Clear, Watch, Block],
            Self::Code | Self::Architect | Self::Critic => [Approve, Comment, RequestChanges],
        }
    }

    /// The fields whose words this kind restricts, with the words it allows.
    pub(super) const fn allowed_words(self) -> [(&'static str, &'static [&'static str]); 2] {
        let lane: &[&str] = match self.lane() {
            ReviewLane::Code => &["code"],
            ReviewLane::Architect => &["architect"],
            ReviewLane::Critic => &["critic"],
        };
        let verdicts: &[&str] = match self {
            Self::ArchitectInCodeReview => &["CLEAR", "WATCH", "BLOCK"],
            Self::Code | Self::Architect | Self::Critic => {
                &["APPROVE", "COMMENT", "REQUEST CHANGES"]
            }
        };
        [("lane", lane), ("verdict", verdicts)]
    }

    /// Rejects words of other kinds of review. This runs before the result is
    /// read as a whole, so that the message offers only the words of this kind.
    pub(super) fn check_words(self, value: &Value) -> Result<(), ResultProblem> {
        for (field, words) in self.allowed_words() {
            if let Some(Value::String(word)) = value.get(field)
                && !words.contains(&word.as_str())
            {
                let error: serde_json::Error = Error::unknown_variant(word, words);
                return Err(ResultProblem::invalid(field, &error.to_string()));
            }
        }
        Ok(())
    }
}

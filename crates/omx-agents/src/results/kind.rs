//! Which results there are, and how an agent is asked for one.

use serde_json::Value;

use super::plan::Plan;
use super::record::Field;
use super::review::{Review, ReviewKind};
use super::verification::Verification;
use super::work::Work;

/// What an agent shall answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResultKind {
    /// A plan with subtasks.
    Plan,
    /// A verdict with findings.
    Review(ReviewKind),
    /// What was done.
    Work,
    /// Whether it holds.
    Verification,
}

impl ResultKind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::Review(ReviewKind::Code),
        Self::Review(ReviewKind::ArchitectInCodeReview),
        Self::Review(ReviewKind::Architect),
        Self::Review(ReviewKind::Critic),
        Self::Work,
        Self::Verification,
    ];

    /// Its name, which is also that of its published schema.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Review(_) => "review",
            Self::Work => "work",
            Self::Verification => "verification",
        }
    }

    /// The JSON schema for the agent's program: every field required, no other
    /// allowed, null where there may be none.
    pub fn schema(self) -> Value {
        match self {
            Self::Plan => Plan::schema(),
            Self::Review(kind) => kind.schema(),
            Self::Work => Work::schema(),
            Self::Verification => Verification::schema(),
        }
    }
}

/// The published schemas by name. That of a review allows the words of all
/// kinds of review; what a program is given allows those of one.
pub fn published() -> [(&'static str, Value); 4] {
    [
        (ResultKind::Plan.as_str(), Plan::schema()),
        ("review", Review::schema()),
        (ResultKind::Work.as_str(), Work::schema()),
        (ResultKind::Verification.as_str(), Verification::schema()),
    ]
}

/// What is added to a prompt where the agent's program takes no schema.
pub fn instructions(kind: ResultKind) -> String {
    format!(
        "End your answer with one block that opens with a line ```json and closes with a line \
         ```, and write nothing after it. In it stands one JSON object, the {}, that fits this \
         schema, with every field (null where the schema allows it and there is nothing to say) \
         and no other:\n{}",
        kind.as_str(),
        kind.schema()
    )
}

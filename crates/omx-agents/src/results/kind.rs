//! The kinds of results, and how an agent is asked for one.

use serde_json::Value;

use super::plan::PlanResult;
use super::review::{ReviewKind, ReviewResult};
use super::schema::strict_schema;
use super::verification::VerificationResult;
use super::work::WorkResult;

/// The kind of result an agent is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResultKind {
    /// A plan with subtasks.
    Plan,
    /// A verdict with findings.
    Review(ReviewKind),
    /// A report of the work done.
    Work,
    /// Whether finished work meets its criteria.
    Verification,
}

impl ResultKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Plan,
        Self::Review(ReviewKind::Code),
        Self::Review(ReviewKind::ArchitectInCodeReview),
        Self::Review(ReviewKind::Architect),
        Self::Review(ReviewKind::Critic),
        Self::Work,
        Self::Verification,
    ];

    /// Its name, which is also the name of its published schema.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Review(_) => "review",
            Self::Work => "work",
            Self::Verification => "verification",
        }
    }

    /// The JSON schema for the agent's program: every field required, no other
    /// field allowed, null where a value is optional.
    pub fn schema(self) -> Value {
        match self {
            Self::Plan => strict_schema::<PlanResult>(),
            Self::Review(kind) => review_schema(kind),
            Self::Work => strict_schema::<WorkResult>(),
            Self::Verification => strict_schema::<VerificationResult>(),
        }
    }
}

/// The schema of a review, restricted to the words of one kind.
fn review_schema(kind: ReviewKind) -> Value {
    let mut schema = strict_schema::<ReviewResult>();
    for (field, words) in kind.allowed_words() {
        if let Some(allowed) = schema.pointer_mut(&format!("/properties/{field}/enum")) {
            *allowed = words.into();
        }
    }
    schema
}

/// The published schemas by name. The one for reviews allows the words of every
/// kind of review; the one an agent gets allows only those of its kind.
pub fn published() -> [(&'static str, Value); 4] {
    [
        (ResultKind::Plan.as_str(), ResultKind::Plan.schema()),
        ("review", strict_schema::<ReviewResult>()),
        (ResultKind::Work.as_str(), ResultKind::Work.schema()),
        (ResultKind::Verification.as_str(), ResultKind::Verification.schema()),
    ]
}

/// The instructions appended to a prompt, for programs that take no schema.
pub fn instructions(kind: ResultKind) -> String {
    format!(
        "End your answer with one block that opens with the line ```json and closes with the \
         line ```, and write nothing after it. The block contains one JSON object, the {}, that \
         matches this schema. Include every field (null where the schema allows it and there is \
         nothing to say) and no other field:\n{}",
        kind.as_str(),
        kind.schema()
    )
}

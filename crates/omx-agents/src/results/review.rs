//! A review: what one lane says, in the words that lane may use.

use serde::{Serialize, Serializer};
use serde_json::Value;

pub use omx_kernel::review::{ArchitecturalStatus, Recommendation};

use super::field::{LineNumber, Text};
use super::place::Place;
use super::problem::ResultProblem;
use super::record::{Field, Word, one_of, record};

record! {
    /// What one reviewer says.
    pub struct Review {
        /// Who reviews.
        lane: Lane as Lane,
        /// The verdict, in the words of the lane.
        verdict: Verdict as Verdict,
        /// What has to change; empty when nothing has.
        findings: Vec<Finding> as &[Finding],
        /// What was looked at, and what the verdict rests on.
        summary: Text as &str,
    }
}

record! {
    /// Something that has to change.
    pub struct Finding {
        /// What is wrong, in words that stay the same from round to round.
        title: Text as &str,
        /// The file that shows it, from the project's folder; null without one.
        file: Option<Text> as Option<&str>,
        /// The line in that file, from 1 on; null without one.
        line: Option<LineNumber> as Option<u32>,
        /// How bad it is.
        severity: Severity as Severity,
        /// What happens, what should happen, and the way to correct it.
        detail: String as &str,
    }
}

/// Who reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lane {
    /// The code's correctness.
    Code,
    /// The structure of the whole.
    Architect,
    /// Whether a plan can be carried out.
    Critic,
}

impl Lane {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Architect => "architect",
            Self::Critic => "critic",
        }
    }
}

impl Word for Lane {
    const ALL: &'static [Self] = &[Self::Code, Self::Architect, Self::Critic];

    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// It must not stay.
    Blocker,
    /// It will hurt.
    Major,
    /// Small, but real.
    Minor,
}

impl Severity {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blocker => "blocker",
            Self::Major => "major",
            Self::Minor => "minor",
        }
    }
}

impl Word for Severity {
    const ALL: &'static [Self] = &[Self::Blocker, Self::Major, Self::Minor];

    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// A verdict of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// What most reviewers say.
    Recommendation(Recommendation),
    /// What the architect says in a code review.
    Status(ArchitecturalStatus),
}

impl Verdict {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recommendation(recommendation) => recommendation.as_str(),
            Self::Status(status) => status.as_str(),
        }
    }

    /// Whether it is the best the lane can say.
    pub fn is_favourable(self) -> bool {
        matches!(
            self,
            Self::Recommendation(Recommendation::Approve)
                | Self::Status(ArchitecturalStatus::Clear)
        )
    }
}

const RECOMMENDATIONS: [Verdict; 3] = [
    Verdict::Recommendation(Recommendation::Approve),
    Verdict::Recommendation(Recommendation::Comment),
    Verdict::Recommendation(Recommendation::RequestChanges),
];
const STATUSES: [Verdict; 3] = [
    Verdict::Status(ArchitecturalStatus::Clear),
    Verdict::Status(ArchitecturalStatus::Watch),
    Verdict::Status(ArchitecturalStatus::Block),
];

impl Word for Verdict {
    const ALL: &'static [Self] = {
        let [a, b, c] = RECOMMENDATIONS;
        let [d, e, f] = STATUSES;
        &[a, b, c, d, e, f]
    };

    fn word(self) -> &'static str {
        self.as_str()
    }
}

/// Which review is asked for: whose, and in which words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReviewKind {
    /// The code lane of a code review.
    Code,
    /// The architect's lane of a code review.
    ArchitectInCodeReview,
    /// The architect on a plan or on finished work.
    Architect,
    /// The critic on a plan.
    Critic,
}

impl ReviewKind {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::Code, Self::ArchitectInCodeReview, Self::Architect, Self::Critic];

    /// Who reviews.
    pub const fn lane(self) -> Lane {
        match self {
            Self::Code => Lane::Code,
            Self::ArchitectInCodeReview | Self::Architect => Lane::Architect,
            Self::Critic => Lane::Critic,
        }
    }

    /// The verdicts there are, the best first.
    pub const fn verdicts(self) -> [Verdict; 3] {
        match self {
            Self::ArchitectInCodeReview => STATUSES,
            Self::Code | Self::Architect | Self::Critic => RECOMMENDATIONS,
        }
    }

    /// The words this kind has for a field that others have more for.
    fn words(self) -> [(&'static str, Vec<&'static str>); 2] {
        [
            ("lane", vec![self.lane().as_str()]),
            ("verdict", self.verdicts().map(Verdict::as_str).to_vec()),
        ]
    }

    /// The schema of a review, with this kind's words only.
    pub(super) fn schema(self) -> Value {
        let mut schema = Review::schema();
        for (name, words) in self.words() {
            if let Some(field) = schema.pointer_mut(&format!("/properties/{name}/enum")) {
                *field = words.into();
            }
        }
        schema
    }

    /// Reads a review of this kind. The words are looked at first, so that a
    /// wrong one is answered with those that fit here.
    pub(super) fn read(self, value: Value) -> Result<Review, ResultProblem> {
        for (name, words) in self.words() {
            match value.get(name) {
                Some(Value::String(word)) if words.contains(&word.as_str()) => {}
                None => {}
                Some(other) => {
                    let place = Place::Field(&Place::Whole, name);
                    return Err(ResultProblem::wrong(&place, one_of(words), other));
                }
            }
        }
        Review::read(value, &Place::Whole)
    }
}

macro_rules! written_as_words {
    ($($type:ty),+) => {
        $(impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        })+
    };
}

written_as_words!(Lane, Severity, Verdict);

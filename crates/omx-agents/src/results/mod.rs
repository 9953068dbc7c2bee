//! What agents answer with: plans, reviews, work and verifications as typed
//! values, the JSON schemas they must fit, and the reader that believes nothing.
//!
//! A type here is the one source of its schema, its reader and its rules: a
//! value that exists has been read, and so is valid. Whether an agent's program
//! says that an answer fits the schema changes nothing.

mod answer;
mod field;
mod json;
mod kind;
mod place;
mod plan;
mod problem;
mod record;
mod review;
mod verification;
mod work;

pub use answer::{AgentResult, parse};
pub use field::{FilePath, Text};
pub use kind::{ResultKind, instructions, published};
pub use plan::{Plan, Subtask};
pub use problem::ResultProblem;
pub use review::{Finding, Lane, Review, ReviewKind, Severity, Verdict};
pub use verification::{Check, Verification};
pub use work::{CommandRun, Work};

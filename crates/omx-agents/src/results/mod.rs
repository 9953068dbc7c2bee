//! The results that agents return: plans, reviews, work reports and
//! verifications.
//!
//! Each type here is the single source of its JSON schema (schemars) and of its
//! reader (serde). A result is always read and checked by omx; an agent's claim
//! that its answer matches the schema is never trusted.

mod answer;
mod kind;
mod plan;
mod problem;
mod read;
mod review;
mod schema;
mod text;
mod verification;
mod work;

pub use answer::{AgentResult, parse};
pub use kind::{ResultKind, instructions, published};
pub use plan::{PlanResult, Subtask};
pub use problem::ResultProblem;
pub use review::{LaneVerdict, ReviewFinding, ReviewKind, ReviewLane, ReviewResult, Severity};
pub use text::{FilePath, NonBlankText};
pub use verification::{VerificationCheck, VerificationResult};
pub use work::{CommandRun, WorkResult};

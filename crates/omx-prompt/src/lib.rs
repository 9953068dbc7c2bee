//! What a prompt means: whether it starts, suggests, cancels or resumes a mode (modes.md 5,
//! hosts.md 3).
//!
//! Every prompt of a person passes through this crate before the agent sees it. The rule
//! therefore takes a single pass in linear time and does not allocate unless something
//! starts. It avoids false positives: only explicit syntax at the start of a line starts a
//! mode, and everything that looks like talking *about* a mode is a mention.
//!
//! [`ScannedPrompt`] returns only the decision; [`explain`] also returns every candidate with the
//! reason for its rejection.

mod address;
mod bare_command;
mod call;
mod cancel;
mod decide;
mod decision;
mod explain;
mod lexicon;
mod mention;
mod phrases;
mod preceding;
mod problem_report;
mod segment;
mod span;
mod text;

pub use decide::ScannedPrompt;
pub use decision::{
    CallForm, CallTarget, CancelCall, CancelReach, Candidate, CandidateVerdict, KeywordPolicy,
    ModeStart, PromptDecision, PromptExplanation, RejectReason, SessionState,
};
pub use explain::explain;

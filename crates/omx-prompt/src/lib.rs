//! Prompts that start, suggest, cancel or resume (modes.md 5, hosts.md 3).
//!
//! What a person types passes here before the agent sees it, every time. So the
//! rule is one walk over the text, in linear time and, unless something starts,
//! without allocating. It is built to be hard to set off: a mode starts by
//! explicit syntax where a line begins, and everything that looks like talking
//! *about* a mode counts as talk.
//!
//! [`decide`] gives the decision alone; [`explain`] the same decision together
//! with every candidate that did not count, and why.

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

pub use decide::decide;
pub use decision::{
    CallForm, CallTarget, Candidate, CandidateVerdict, KeywordPolicy, ModeStart, PromptDecision,
    PromptExplanation, RejectReason, SessionState,
};
pub use explain::explain;

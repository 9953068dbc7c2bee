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
mod call;
mod cancel;
mod context;
mod decide;
mod decision;
mod explain;
mod inline;
mod only;
mod phrases;
mod scan;
mod talk;
mod text;
mod trouble;
mod words;

pub use decide::decide;
pub use decision::{
    Candidate, Decision, Explanation, How, Keywords, Present, Start, Verdict, Why, Word,
};
pub use explain::explain;

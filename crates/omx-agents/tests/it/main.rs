//! The agents, from outside.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod approval;
mod environment;
mod gemini;
mod rehearsal;
mod results;
mod rpc;

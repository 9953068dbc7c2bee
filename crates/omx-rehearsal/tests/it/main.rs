//! Scenarios of the rehearsal agent.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod errors;
mod fuzz;
mod reader;

//! The agents, from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, reason = "tests")]

mod approval;
mod environment;
mod rpc;

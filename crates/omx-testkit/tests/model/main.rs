//! The scripted model and the real agent programs that run against it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod client;
mod real_cli;
mod real_conditions;
mod server;
mod wire;

//! The conductor, from outside.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests"
)]

mod engine;
mod failures;
mod harness;
mod input;
mod kit;
mod simulation;
mod workflow;

//! The server over pipes, in one process: concurrency, cancellation, progress.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod batches;
mod client;
mod concurrency;
mod requests;
mod tools;

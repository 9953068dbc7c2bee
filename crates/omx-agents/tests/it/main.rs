//! Tests of the public interface.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod approval;
mod codex;
mod environment;
mod gemini;
mod results;
mod rpc;
mod streams;

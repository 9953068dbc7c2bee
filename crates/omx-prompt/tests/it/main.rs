//! The prompt rule on its corpus, and properties that hold for any prompt.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod corpus;
mod properties;

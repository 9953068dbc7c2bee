//! Operations on a temporary project, without the program around them.

#![allow(clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod project;
mod requests;
mod runs;

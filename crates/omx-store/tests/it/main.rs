//! The store from outside, with real files and processes.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod events;
mod helper;
mod journal;
mod journal_crash;
mod registry;
mod run_folder;
mod run_lock;
mod stage;

//! The store, from outside: real files, real processes.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod journal;
mod journal_crash;
mod player;
mod registry;
mod run_folder;
mod run_lock;
mod stage;

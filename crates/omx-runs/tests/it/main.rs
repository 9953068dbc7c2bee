//! Real git on real repositories.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "tests"
)]

mod calls;
mod commit;
mod diff;
mod integrate;
mod integrate_refused;
mod place;
mod remove;
mod stage;
mod tree;
mod worktree;

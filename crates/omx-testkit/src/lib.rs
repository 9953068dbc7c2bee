//! Shared by tests: temporary projects, the built program, an MCP client.
//!
//! Tests never skip: a missing program is a failure that names the command to
//! install it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod binary;
mod callgrind;
pub mod fuzz;
mod kill_loop;
mod kill_runs;
mod mcp;
pub mod model;
mod npm;
mod parallel;
mod places;
mod program;
mod project;
mod random;
pub mod real_cli;
mod run;
pub mod strace;
mod terminal;
pub mod tree;

pub use binary::release_binary;
pub use callgrind::{CountedProject, InstructionCounts, PinnedCounts};
pub use kill_loop::{KillLoopReport, kill_loop};
pub use kill_runs::{KillRunsReport, kill_runs};
pub use mcp::McpClient;
pub use npm::npm_tool;
pub use parallel::in_parallel;
pub use places::{MODES, SavedTree, promptly};
pub use program::write_program;
pub use project::TestProject;
pub use random::Random;
pub use run::{CommandOutcome, await_condition};

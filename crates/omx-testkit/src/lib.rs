//! What tests share: temporary projects, the built program, an MCP client.
//!
//! Nothing here passes by skipping: what a test needs and does not find is a
//! failure with the command that installs it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod binary;
mod callgrind;
pub mod fuzz;
mod mcp;
mod project;
mod run;

pub use binary::release_binary;
pub use callgrind::{CountedProject, Counts, Pins};
pub use mcp::McpClient;
pub use project::Project;
pub use run::{Outcome, await_condition};

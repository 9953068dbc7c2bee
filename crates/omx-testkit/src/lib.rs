//! What tests share: temporary projects, the built program, an MCP client.
//!
//! Nothing here passes by skipping: what a test needs and does not find is a
//! failure with the command that installs it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "for tests only")]

mod binary;
mod mcp;
mod places;
mod project;
mod run;

pub use binary::release_binary;
pub use mcp::McpClient;
pub use places::{Kept, MODES, promptly};
pub use project::Project;
pub use run::{Outcome, await_condition};

//! The built program as a person or another program meets it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod both_doors;
mod cancel_force;
mod cancel_kit;
mod cancel_messages;
mod cancel_order;
mod cancel_postconditions;
mod cancel_scope;
mod help;
mod inspector;
mod mcp_protocol;
mod state_where;

use omx_testkit::Project;

/// A new project for the program as it was built for these tests.
fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_omx"))
}

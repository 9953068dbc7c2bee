//! The built program as a person or another program meets it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod configuration;
mod configuration_keys;
mod state_bad_input;
mod state_dialect;
mod state_document;
mod state_lifecycle;
mod state_limits;
mod state_operations;
mod state_stale;
mod state_unreadable;
mod state_unsafe_path;
mod state_usage;
mod state_where;

use omx_testkit::Project;

/// A new project for the program as it was built for these tests.
fn project() -> Project {
    Project::new(env!("CARGO_BIN_EXE_omx"))
}

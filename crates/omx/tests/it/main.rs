//! The built program, as a person or another program uses it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, missing_docs, reason = "tests")]

mod agents;
mod ask;
mod cancel_force;
mod cancel_kit;
mod cancel_messages;
mod cancel_order;
mod cancel_postconditions;
mod cancel_scope;
mod cancel_what;
mod child_context;
mod cli_and_mcp;
mod concurrency;
mod conduct;
mod configuration;
mod configuration_keys;
mod crash_checks;
mod crash_faults;
mod crash_order;
mod crash_places;
mod crash_points;
mod crash_scenarios;
mod demo;
mod dialects;
mod doctor;
mod evidence;
mod first_steps;
mod foreign_text;
mod fuzz;
mod fuzz_found;
mod help;
mod hooks;
mod hud;
mod inspector;
mod instructions;
mod kill_loop;
mod mcp_protocol;
mod messages;
mod previous_version;
mod real_agents;
mod seeds;
mod setup;
mod skills;
mod skills_real;
mod state_bad_input;
mod state_dialect;
mod state_document;
mod state_foreign;
mod state_lifecycle;
mod state_limits;
mod state_operations;
mod state_stale;
mod state_unreadable;
mod state_unsafe_path;
mod state_usage;
mod state_where;
mod trust;

use omx_testkit::TestProject;

/// A new project for the program as it was built for these tests.
fn project() -> TestProject {
    TestProject::new(env!("CARGO_BIN_EXE_omx"))
}

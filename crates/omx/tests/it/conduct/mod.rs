//! Whole runs through the built program: with the rehearsal agent, kills, cancels
//! and key presses.

mod agent_git;
mod approvals;
mod cancels;
mod certain;
mod checks;
mod confinement;
mod control;
mod dialects;
mod failures;
mod files;
mod first_moment;
mod held_lock;
mod history;
mod integration;
mod kills;
mod kit;
mod limits;
mod moved;
mod normal_work;
mod over_mcp;
mod own_git;
mod own_git_confined;
mod power_cut;
mod real;
mod received;
mod relay_peers;
mod repeats;
mod resume_flags;
mod retention;
pub mod scenario;
mod stops;
mod strangers;
mod summaries;
mod terminals;
mod terminals_of_others;
mod truth;
mod two_doors;
mod unconfined;
mod watched;
mod watched_checkout;
mod whole_runs;
mod workspaces;

pub use kit::{Repository, quick_scenario};

//! Runs that omx carries out, from outside: with the rehearsal agent, with
//! kills, cancels and keys pressed.

mod approvals;
mod cancels;
mod control;
mod dialects;
mod failures;
mod kills;
mod kit;
mod limits;
mod moved;
mod real;
mod repeats;
mod retention;
mod stops;
mod summaries;
mod terminals;
mod watched;
mod whole_runs;
mod workspaces;

pub use kit::{Repository, quick_scenario};

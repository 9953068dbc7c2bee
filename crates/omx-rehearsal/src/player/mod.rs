//! The agent's own process: a state machine that plays, and the shell around it.

mod job;
mod job_process;
mod machine;
mod mcp;
mod run;
mod turn;

pub use run::{PlayerConfig, PlayerExit, play};

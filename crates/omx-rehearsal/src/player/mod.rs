//! The agent's own process: a machine that plays, and the world around it.

mod child;
mod job;
mod machine;
mod mcp;
mod run;
mod turn;

pub use run::{Ending, Setup, play};

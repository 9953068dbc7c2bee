//! The rehearsal agent: a built-in agent that plays a scenario file instead of
//! calling a model, so that everything can be tried without an account.
//!
//! Like every other agent it is a process: [`Rehearsal`] starts this program
//! under guard with a hidden command, whose [`play`] speaks a small protocol over
//! its standard streams. Its work is real: it changes files, runs commands, calls
//! tools and requests approvals. Only the thinking is scripted.

mod coverage;
mod driver;
mod hash;
mod memory;
mod player;
mod protocol;
pub mod scenario;
mod selection;
mod state_file;
mod wire;

pub use coverage::check_coverage;
pub use driver::{Rehearsal, driver};
pub use player::{PlayerConfig, PlayerExit, play};

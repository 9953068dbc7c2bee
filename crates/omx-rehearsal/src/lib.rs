//! The rehearsal agent: built in, it plays a scenario file instead of asking a
//! model, so that everything can be tried without an account.
//!
//! It is a process like every other agent: [`Rehearsal`] starts this program
//! under guard with a hidden command, whose [`play`] speaks a small protocol
//! over its standard streams. What it does is real: files are changed, commands
//! run, tools called, leave asked for. Only the thinking is written down in
//! advance.

mod choose;
mod driver;
mod finish;
mod hash;
mod memory;
mod player;
mod protocol;
mod replace;
pub mod scenario;
mod wire;

pub use driver::{Rehearsal, driver};
pub use finish::finish;
pub use player::{Ending, Setup, play};

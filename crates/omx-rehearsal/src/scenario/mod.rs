//! What the rehearsal agent plays: a scenario, read from a TOML or JSON file.
//! Whatever is wrong with the file is told with file and line.

mod fault;
mod fields;
mod json;
mod model;
mod node;
mod read;
mod step;
mod toml;

pub use fault::Fault;
pub use model::{Action, Ears, Entry, LimitEnd, Scenario, ScenarioFailure, Step};
pub use read::{load, parse};

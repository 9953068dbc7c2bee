//! Scenarios: what the rehearsal agent plays, read from a TOML file. Every
//! mistake in the file is reported with its line.

mod error;
mod file;
mod model;
mod read;
mod values;

pub use error::ScenarioError;
pub use model::{
    HangKind, LimitEnd, Scenario, ScenarioAction, ScenarioEntry, ScenarioFailure, ScenarioStep,
};
pub use read::{load, parse};

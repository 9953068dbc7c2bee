//! The statements of the seed documents (docs/seeds.md): the page itself, and the
//! statements that no test of the feature shows.

mod autopilot;
mod cancel;
mod loop_rules;
mod omc;
mod page;
mod state;

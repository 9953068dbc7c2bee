//! The doctor: does everything omx relies on work, and if not, what to do.
//!
//! Every check does the thing it reports on: the lock is taken, the hook is
//! called, the server is asked. What is wrong is one finding with a place and a
//! way out; what can be put right without risk is put right by [`mend`].

mod agents;
mod config;
mod examine;
mod finding;
mod hooks;
mod leftovers;
mod mend;
mod patient;
mod processes;
mod server;
mod settings;
mod setup;
mod state;
mod store;
mod tools;
mod trial;

pub use examine::examine;
pub use finding::{Area, Finding, Level, Mend, Report};
pub use mend::mend;
pub use patient::{AgentSeen, AgentState, Installed, Patient};

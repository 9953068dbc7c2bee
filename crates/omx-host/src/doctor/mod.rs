//! The doctor: does everything omx relies on work, and if not, what to do.
//!
//! Every check does the thing it reports on: the lock is taken, the hook is
//! called, the server is asked. What is wrong is one finding with a place and a
//! way out; what can be put right without risk is put right by [`apply_fixes`].

mod agents;
mod checks;
mod config;
mod env;
mod finding;
mod fix;
mod hooks;
mod leftovers;
mod orphans;
mod probe;
mod server;
mod settings;
mod setup;
mod state;
mod store;
mod tools;

pub use checks::run_checks;
pub use env::{AgentCheck, AgentReadiness, DoctorEnv, Installation};
pub use finding::{CheckArea, DoctorFinding, DoctorReport, FindingLevel, Fix};
pub use fix::apply_fixes;

//! The doctor: checks that everything omx relies on works, and says what to do if not.
//!
//! Every check does what it reports on: it takes the lock, runs the hook, queries the
//! server. A problem is one finding with a place and a remedy. [`apply_fixes`] fixes
//! what can be fixed without risk.

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

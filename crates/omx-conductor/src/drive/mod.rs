//! Executes a run: feeds events to the engine and carries its effects out.
//!
//! [`Drive`] makes every decision of the shell and works on any [`World`]. The
//! production world ([`ProjectWorld`]) consists of files, threads and processes. The
//! simulation is another world under the same `Drive`, so that tests cover the code
//! that runs.

mod agents;
mod attention;
mod control;
mod documents;
mod event_log;
mod jobs;
mod mailbox;
mod project;
mod run;
mod watch;
mod world;

pub use control::RunHandle;
pub use project::{ProjectWorld, RoleCard, RunEnv};
pub use run::{Drive, EndedRun};
pub use world::{ControlEvent, ObservedDocument, World, WorldEvent};

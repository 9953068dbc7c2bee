//! Carries a run out: feeds the engine events and carries its effects out.
//!
//! [`Drive`] makes every decision of the shell and works on any [`World`]. The
//! production world ([`ProjectWorld`]) is files, threads and processes; the
//! simulation is another world under the same `Drive`, so that the code that is
//! tested is the code that runs.

mod agents;
mod attention;
mod control;
mod documents;
mod jobs;
mod mailbox;
mod project;
mod run;
mod world;

pub use mailbox::RunHandle;
pub use project::{ProjectWorld, RoleCard, RunEnv};
pub use run::{Drive, EndedRun};
pub use world::{ControlEvent, ObservedDocument, World, WorldEvent};

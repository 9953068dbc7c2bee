//! Child processes: the guard, pipes, deadlines, process identity, signals.
//!
//! Everything omx starts on behalf of a run goes through here, so that it ends on
//! time and leaves nothing behind. This crate knows nothing about agents, runs or
//! documents, and links no other crate of the workspace.

pub mod guard;
mod guarded;
mod guarded_run;
mod launch;
mod parent;

pub use guarded::{GuardedProcess, ProcessEvent};
pub use guarded_run::{GuardedExit, run_guarded};
pub use launch::Launch;
pub use parent::on_parent_exit;

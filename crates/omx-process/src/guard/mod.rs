//! The process between omx and an agent. It terminates the agent's whole process
//! tree, including processes that left the group or the session, on command, when
//! the agent exits, and when omx itself is gone, for whatever reason.
//!
//! The guard is a child subreaper: a process below it that loses its parent becomes
//! its child. "No child left" therefore means that nothing of the agent is left. Its
//! standard input is a socket to omx that carries commands and reports (see
//! [`GuardCommand`] and [`GuardReport`]); when the socket closes, omx is gone. The
//! guard runs in its own session, so that keys pressed in the terminal reach only omx.

mod control;
mod find;
mod inherited;
mod inputs;
mod leftovers;
mod rules;
mod run;
mod termination;
mod tree;
mod wire;

pub(crate) use control::send_setup;
pub use control::{GuardControl, take_control};
pub(crate) use find::FOR_FLAG;
pub use find::{AncestorGuard, LiveGuard};
pub use leftovers::adopt_unguarded;
pub(crate) use leftovers::{LeftoverTraces, kill_leftovers};
pub use run::{GuardOutcome, run};
pub use tree::signal_descendants;
pub(crate) use tree::{ProcessTable, read_table, signal_process, with_descendants};
pub use wire::{GuardCommand, GuardReport};

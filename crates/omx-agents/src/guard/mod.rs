//! The process between omx and an agent. It ends the agent's whole tree, also
//! what left the group or the session, when it is told to, when the agent is
//! gone, and when omx itself is gone, however that came about.
//!
//! It is a child subreaper: whatever loses its parent below it becomes its
//! child. So "no child left" means nothing of the agent is left. Its standard
//! input is a socket to omx; words on it are orders and reports (see [`wire`]),
//! its closing means that omx is gone. It stands in a session of its own, so
//! that keys pressed in the terminal reach omx alone.

mod control;
mod ears;
mod run;
mod seal;
mod sweep;
mod tree;
pub mod wire;

pub(crate) use control::send_ahead;
pub use control::{Control, control};
pub use run::run;
pub(crate) use sweep::{Traces, sweep};

//! What a host CLI, and an agent in it, sees of omx.
//!
//! The catalogue: the roles an agent can take, built into the program and
//! overridden by a project's own. Setup: omx's parts in the host's files.

pub mod catalogue;
mod host;
mod role;
pub mod setup;

pub use host::Host;
pub use role::{Answer, Role, RoleError, Tier, Tools};

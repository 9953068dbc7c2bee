//! What a host CLI, and an agent in it, sees of omx.
//!
//! Its hooks, and the catalogue: the roles an agent can take, built into the
//! program and overridden by a project's own.

pub mod catalogue;
pub mod hook;
pub mod process;
mod role;

pub use role::{Answer, Role, RoleError, Tier, Tools};

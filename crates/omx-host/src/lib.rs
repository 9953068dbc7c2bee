//! What a host CLI, and an agent in it, sees of omx.
//!
//! So far this is the catalogue: the roles an agent can take, built into the
//! program and overridden by a project's own.

pub mod catalogue;
mod role;

pub use role::{Answer, Role, RoleError, Tier, Tools};

//! What a host CLI, and an agent in it, sees of omx.
//!
//! Its hooks; setup, omx's parts in the hosts' files; the catalogue, roles an agent can take and skills it can follow,
//! built into the program and overridden by a project's own; and the block of
//! guidance for a host's file of instructions; the doctor, whether all of it works.

pub mod catalog;
pub mod doctor;
mod front_matter;
mod guidance;
pub mod hook;
mod hosts;
pub mod process;
mod role;
pub mod setup;
mod skill;

pub use front_matter::CatalogueError;
pub use guidance::{GUIDANCE_END, GUIDANCE_START, guidance};
pub use hosts::{ApprovalForm, HomeVariable, HostHome, HostSpec, OutputForm, host_spec};
pub use omx_kernel::HostKind;
pub use role::{ModelTier, Role, RoleResult, ToolAccess};
pub use skill::Skill;

//! What a host CLI, and the agent in it, sees of omx.
//!
//! - [`hook`]: events of the hosts, and what omx answers;
//! - [`setup`]: omx's parts in the hosts' files, put in and taken out again;
//! - [`catalog`]: roles and skills, built in or a project's own;
//! - [`guidance`]: the block for a host's file of instructions;
//! - [`doctor`]: checks that all of it works.
//!
//! It changes the person's files only in [`setup::apply`], and only as planned.

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

pub use front_matter::CatalogError;
pub use guidance::guidance;
pub use hosts::{
    ApprovalForm, FeedbackSupport, HomeVariable, HostHome, HostSpec, OutputForm, host_spec,
};
pub use omx_kernel::HostKind;
pub use role::{ModelTier, Role, RoleResult, ToolAccess};
pub use skill::Skill;

//! What setup writes for each host, and where.

pub(crate) mod claude;
pub(crate) mod codex;
mod common;
pub(crate) mod gemini;

pub use codex::trusted_hash;
pub(crate) use common::HostSetup;
pub use common::{HookForm, hook_command};

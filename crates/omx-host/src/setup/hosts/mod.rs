//! What each host is given, and where.

pub(super) mod claude;
pub(super) mod codex;
mod common;
pub(super) mod gemini;

pub use codex::trusted_hash;
pub use common::{hook_command, hook_events};

//! Hooks: a host's event in, the output for the host out.

mod event;
mod handle;
mod output;
mod payload;
mod transcript;

pub use event::{HookEvent, SessionOpening};
pub use handle::{HookFiles, HookFollowUp, HookOutcome, handle_event};
pub use output::HookOutput;
pub use payload::HookPayload;

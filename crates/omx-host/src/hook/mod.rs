//! A host's events in, effects out.

mod event;
mod handle;
mod output;
mod payload;

pub use event::{HookEvent, SessionOpening};
pub use handle::{FollowUp, HookFiles, HookOutcome, handle};
pub use output::HookOutput;
pub use payload::HookPayload;

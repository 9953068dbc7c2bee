//! A host's events in, effects out.

mod answer;
mod event;
mod handle;
mod payload;

pub use answer::Answer;
pub use event::{Event, Opening};
pub use handle::{Errand, Handled, World, handle};
pub use payload::Payload;

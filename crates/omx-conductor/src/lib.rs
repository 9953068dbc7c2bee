//! Carries modes out: omx itself holds the loop, agents are its workers.

pub mod asked;
pub mod input;
pub mod record;
pub mod story;

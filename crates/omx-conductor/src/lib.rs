//! Carries modes out: omx itself holds the loop, agents are its workers.
//!
//! A [`story`] tells what a mode does next, from what has been done. The
//! [`engine`] is the loop around it, pure: happenings in, effects out.

pub mod ask;
pub mod asked;
pub mod engine;
pub mod git;
pub mod input;
pub mod progress;
pub mod prompts;
pub mod record;
pub mod story;

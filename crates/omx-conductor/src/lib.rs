//! Carries modes out: omx itself holds the loop, agents are its workers.
//!
//! A [`story`] tells what a mode does next, from what has been done. The
//! [`engine`] is the loop around it, pure: happenings in, effects out.

pub mod ask;
pub mod check;
pub mod drive;
pub mod engine;
pub mod input;
pub mod prompts;
mod show;
pub mod stages;
pub mod start;
pub mod story;

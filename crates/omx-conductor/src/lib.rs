//! Executes modes: omx runs the loop, agents do the work.
//!
//! A [`workflow`] determines what a mode does next, given the completed steps. The
//! [`engine`] is the loop around it as a pure state machine: events in, effects out.
//! [`drive`] carries the effects out, in a project or in the simulation.

pub mod ask;
pub mod check;
pub mod drive;
pub mod engine;
pub mod input;
pub mod prompts;
pub mod sandbox;
pub mod start;
pub mod workflow;

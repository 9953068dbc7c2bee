//! omx inside an agent's own conversation: what a host calls and what it receives.

mod bare_calls;
mod bounds;
mod cancel;
mod crashes;
mod deadline;
mod events;
mod failures;
mod fuzz;
mod identity;
pub mod kit;
mod prompts;
mod races;
mod reach;
mod real;

//! omx inside an agent's own conversation: what a host calls, and what it gets.

mod bounds;
mod broken;
mod cancelling;
mod crashes;
mod events;
mod fuzzed;
mod identity;
mod kit;
mod prompts;
mod races;
mod real;

//! omx inside an agent's own conversation: what a host calls and what it receives.

mod bare_calls;
mod bounds;
mod cancel;
mod crashes;
mod deadline;
mod events;
mod every_host;
mod failures;
mod fuzz;
mod identity;
mod interrupts;
pub mod kit;
mod prompts;
mod races;
mod reach;
mod real;
mod rounds;
mod stages;
mod texts;
mod waiting;

pub use kit::answer as answer_of;

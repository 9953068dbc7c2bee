//! The loop of a run as a pure state machine: events in, effects out.
//!
//! The engine holds no file, no process and no clock. [`Drive`](crate::drive::Drive)
//! feeds it events and carries its effects out in order, in production and in the
//! simulation alike. Everything that must survive a kill is a
//! [`Record`](omx_runs::Record), which precedes the effects it describes in the list.
//! An effect that fails comes back as an event, so that every decision about a
//! failure is made here.

mod agent;
mod attention;
mod budget;
mod close;
mod commit;
mod document;
mod effect;
mod event;
mod failure;
mod handle;
mod inspect;
mod job;
mod limits;
mod open;
mod progress;
mod state;

pub use close::RunOutcome;
pub use effect::{Job, RunEffect, StepConversation};
pub use event::{DocumentFailure, JobFailure, JobResult, RunEvent};
pub use inspect::Inspection;
pub use open::StepDecision;
pub use state::Engine;

pub(crate) use agent::journal_usage;
pub(crate) use progress::describe_approval_request;

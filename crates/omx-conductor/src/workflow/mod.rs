//! The workflows, as pure functions of the completed steps.
//!
//! A workflow is replayed from its start each time. A completed step returns its
//! result at once; the first step that is not completed ends the replay and comes
//! next. Completed steps are the only state, so a run that was killed anywhere
//! continues where it was. During the replay a workflow changes documents. Every
//! change goes through the kernel's rules in memory, so a workflow that breaks a rule
//! cannot be replayed at all.

mod autopilot;
mod context;
mod ledger;
mod pipeline;
mod ralph;
mod ralplan;
mod replay;
mod review;
mod seat;
mod step;
mod ultraqa;

pub use context::WorkflowContext;
pub use ledger::{DocumentChange, ReplayCache};
pub use replay::{NextAction, Replay, WorkflowEnd, replay};
pub use seat::Seat;
pub use step::{
    AgentStep, CheckResult, CompletedSteps, JobStep, KeptPlan, Step, StepKind, StepPurpose,
    StepResult,
};

use replay::{Flow, Halt, Workflow};

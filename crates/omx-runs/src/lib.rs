//! The model of a run, without its loop: the spec, the journal's records, the
//! workspace, the overview, and the removal of leftovers.
//!
//! Nothing here starts an agent or decides what a run does next; that is the
//! conductor's job. The only program this crate starts is git.

pub mod attention;
mod checkout_watch;
mod env;
pub mod git;
pub mod limits;
pub mod listing;
mod migrate;
mod orphans;
pub mod overview;
mod private_folders;
pub mod progress;
pub mod record;
mod recorded_work;
pub mod repository;
pub mod retention;
pub mod spec;
mod spec_change;
mod step_key;
pub mod stop;
mod usage;
pub mod workspace;

pub use checkout_watch::CheckoutWatch;
pub use env::{GitEnvironment, ProjectEnv};
pub use limits::{LimitChange, LimitRequestId};
pub use orphans::find_orphans;
pub use private_folders::{PrivateFolders, PrivatePlaces};
pub use record::Record;
pub use recorded_work::{WorkDifference, WorkspaceState};
pub use repository::{OtherAgents, RunRepository, StepEdits};
pub use spec::{Budget, PipelineStage, RunLimits, RunSpec, VerificationLevel, Workspace};
pub use spec_change::{SpecChange, recorded_changes};
pub use step_key::StepKey;
pub use usage::Usage;

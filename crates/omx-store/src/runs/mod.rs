//! Runs: each has a folder, a lock that its process holds as long as it lives, and a
//! journal that survives any crash.
//!
//! This module does not interpret records. It guarantees that an acknowledged record is
//! never lost and a torn one never read.

mod cleanup;
mod entries;
mod files;
mod folder;
mod holder;
mod index;
mod journal;
mod list;
mod lock;
mod owned;
mod registry;
mod step_log;

pub use entries::{JournalEntry, JournalReader};
pub(crate) use folder::RUNS;
pub use folder::{HeldRun, RunAcquisition, RunFolder};
pub use holder::LockHolder;
pub use index::{RunIndexFile, RunStamps};
pub use journal::{Journal, MAX_RECORD_BYTES};
pub use list::{ListedRun, RunRemoval};
pub use lock::{Liveness, LockOwner};
pub use owned::RunTitle;
pub use registry::{RegisteredRun, RunRegistry};
pub use step_log::{StepLog, StepLogName};

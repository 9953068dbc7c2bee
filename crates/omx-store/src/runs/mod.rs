//! Runs that omx itself drives: each has a folder, a lock held for life, and a
//! journal that outlives whatever kills the run.
//!
//! What a record means is the conductor's affair. Here is only that an
//! acknowledged record is never lost and a torn one never read.

mod cleanup;
mod entries;
mod folder;
mod holder;
mod journal;
mod list;
mod lock;
mod registry;
mod step_log;

pub use entries::{JournalEntry, JournalReader};
pub(crate) use folder::RUNS;
pub use folder::{HeldRun, RunAcquisition, RunFolder};
pub use holder::LockHolder;
pub use journal::{Journal, MAX_RECORD_BYTES};
pub use list::{ListedRun, RunRemoval};
pub use lock::Liveness;
pub use registry::{RegisteredRun, RunRegistry};
pub use step_log::{StepLog, StepLogName};

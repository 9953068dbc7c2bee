//! Runs that omx itself drives: each has a folder, a lock held for life, and a
//! journal that outlives whatever kills the run.
//!
//! What a record means is the conductor's affair. Here is only that an
//! acknowledged record is never lost and a torn one never read.

mod entries;
mod folder;
mod holder;
mod journal;
mod list;
mod lock;
mod output;
mod registry;
mod sweep;

pub use entries::{Entry, JournalReader};
pub use folder::{HeldRun, RunFolder, Taking};
pub use holder::Holder;
pub use journal::{Journal, MAX_RECORD_BYTES};
pub use list::{ListedRun, Removal};
pub use lock::Liveness;
pub use output::{OutputFile, OutputName};
pub use registry::{Registered, Registry};

//! Keeps what omx knows: documents, activity records, the event log, runs and
//! their journals.
//!
//! Only a [`Locked`] store can change anything, and only through calls that
//! take a name from a checked type. Readers take no lock: a document is
//! replaced whole or not at all.

mod activity;
mod cards;
mod dir;
mod documents;
mod error;
mod events;
pub mod identity;
pub mod json;
mod lock;
mod project;
mod quarantine;
mod replace;
pub mod runs;
mod settings;
mod shelf;
mod sweep;
mod tree;

pub use documents::{ScopeRead, Unreadable};
pub use error::StoreError;
pub use events::Event;
pub use lock::Locked;
pub use project::{Project, Surroundings, find_project};
pub use quarantine::Quarantined;
pub use settings::change_file;
pub use shelf::Shelf;
pub use sweep::Swept;
pub use tree::{StateDir, Store};

/// The largest document omx writes.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The deepest nesting of a document omx writes; the document itself is the first level.
pub const MAX_DEPTH: usize = 32;

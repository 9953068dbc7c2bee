//! Stores documents, activity records, the event log, and runs with their journals.
//!
//! Only a [`LockedStore`] can change documents, and its methods take names only as
//! checked types. Readers take no lock, because a document is always replaced as a
//! whole.

mod activity;
mod any_path;
mod artifacts;
mod below;
mod cancel_mark;
mod dir;
mod documents;
mod error;
mod events;
mod flush;
pub mod identity;
pub mod json;
mod lock;
mod misnamed;
mod owner;
mod parallel;
mod project;
mod quarantine;
mod remove_all;
mod remove_tree;
mod replace;
pub mod runs;
mod runtime_folders;
mod scope_contents;
mod session_index;
mod settings;
mod stamp;
mod team_configs;
mod tree;
mod trust;

pub use artifacts::ArtifactFolder;
pub use below::change_file_below;
pub use error::StoreError;
pub use events::{EventKind, LogEvent};
pub use flush::{flush_all, flush_data};
pub use lock::LockedStore;
pub use misnamed::MisnamedDocument;
pub use owner::is_persons;
pub use parallel::map_in_parallel;
pub use project::{Project, ProjectSearch, find_project, find_skipped};
pub use quarantine::QuarantinedDocument;
pub use remove_all::RemovedFiles;
pub use remove_tree::remove_tree;
pub use runtime_folders::RuntimeFolders;
pub use scope_contents::{ScopeContents, UnreadableDocument};
pub use session_index::NoteworthySessions;
pub use settings::change_file;
pub use stamp::FileStamp;
pub use tree::{StateDir, Store};
pub use trust::{ContentHash, TrustRecords, TrustedFile};

/// The largest document omx writes.
pub const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The deepest nesting of a document omx writes. The document itself is the first level.
pub const MAX_DEPTH: usize = 32;

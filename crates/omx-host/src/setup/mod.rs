//! Setup and uninstall: omx's parts in the files of the host programs.
//!
//! Planning is pure: the person's text goes in, the new text and what to
//! remember come out. Every part is one piece of text put into the person's,
//! so taking it out again gives the original bytes back. Only `apply` writes.

mod apply;
mod block;
mod diff;
mod disk;
mod edit;
mod ground;
mod hosts;
mod json;
mod json_text;
mod manifest;
mod part;
mod plan;
mod planner;
#[cfg(test)]
mod properties;
mod text;
mod toml;

pub use apply::{ApplyError, Changing, apply, changing};
pub use diff::unified;
pub use disk::{Disk, RealDisk};
pub use ground::{Catalogue, Ground, Homes, Scope, SkillFile};
pub use hosts::{events_of, hook_command, trusted_hash};
pub use manifest::{FileRecord, Manifest, ManifestError, Origin};
pub use part::{Part, Slot};
pub use plan::{plan_setup, plan_uninstall};
pub use planner::{Change, Note, NoteKind, Plan};

/// Why a file is not touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Broken(pub String);

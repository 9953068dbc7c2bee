//! Setup and uninstall: omx's parts in the files of the hosts.
//!
//! Planning is pure: it takes the person's text, and computes the new text and what to
//! record. Every fragment is one inserted piece of text, so removing it restores the
//! original bytes. Only [`apply`] writes.

mod apply;
mod block;
mod diff;
mod disk;
mod edit;
mod fragment;
mod hosts;
mod json;
mod json_text;
mod manifest;
mod paths;
mod plan;
mod planner;
#[cfg(test)]
mod properties;
mod text;
mod toml;

pub use apply::{ApplyError, SetupLock, apply, lock_setup};
pub use diff::unified_diff;
pub use disk::{RealDisk, SetupDisk};
pub use fragment::{Fragment, FragmentSlot};
pub use hosts::{HookForm, hook_command, trusted_hash};
pub(crate) use hosts::{HostSetup, claude, codex, gemini};
pub(crate) use json::parse_settings;
pub use manifest::{FileOrigin, FileRecord, Manifest, ManifestError};
pub use paths::{HostHomes, SetupCatalog, SetupPaths, SetupScope, SkillFile};
pub use plan::{plan_setup, plan_uninstall};
pub use planner::{SetupFileChange, SetupNote, SetupNoteKind, SetupPlan};

/// Why omx cannot edit a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EditError(pub String);

//! The report of a worker.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::read::objects;
use super::text::{FilePath, NonBlankText, optional};

/// What a worker did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct WorkResult {
    /// What works now, and anything a reader would not expect.
    pub summary: NonBlankText,
    /// Every file created, changed or removed, relative to the project folder, without "..".
    pub changed_files: Vec<FilePath>,
    /// The commands that prove it.
    #[serde(deserialize_with = "objects")]
    pub commands: Vec<CommandRun>,
    /// Whether the whole task is done.
    pub done: bool,
    /// Why the task is not done; null if it is.
    #[serde(default, deserialize_with = "optional")]
    pub blocked_reason: Option<NonBlankText>,
}

/// A command that the worker ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CommandRun {
    /// The command line, exactly as it was run.
    pub command: NonBlankText,
    /// The exit code it returned.
    pub exit_code: i64,
}

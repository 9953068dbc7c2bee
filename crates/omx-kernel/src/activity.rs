//! omx's own record of a session, beside its documents.
//!
//! Counters that move with every tool call must not move a document's
//! `revision`, or an agent's own read would make its next write conflict. And
//! what was cancelled must be remembered when its document is cleared away.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// For this long after a cancelled document was cleared, only an explicit
/// start brings its mode back.
pub const CANCEL_REMEMBERED_MILLIS: i64 = 60_000;

/// The record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionActivity {
    /// The last sign of life of the session.
    pub last_seen: Option<Timestamp>,
    /// Holds in a row without a tool call in between.
    pub holds_in_a_row: u32,
    /// The progress fingerprint of the last hold.
    pub fingerprint: Option<u64>,
    /// How many holds in a row had that fingerprint.
    pub same_fingerprint: u32,
    /// The person interrupted, and has said nothing since.
    pub interrupted: bool,
    /// What the first tool call after the last hold did.
    pub last_tool: Option<ToolClass>,
    /// What was cleared away, by mode.
    pub cleared: BTreeMap<String, ClearedDocument>,
}

/// What a tool call does, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Changes files.
    Edit,
    /// Runs a command.
    Run,
    /// Looks only.
    Read,
    /// Calls a server's tool.
    Mcp,
    /// Anything else.
    Other,
}

impl ToolClass {
    /// The class of a host's tool, by its name.
    pub fn from_tool_name(tool: &str) -> Self {
        match tool {
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" | "apply_patch" | "write_file"
            | "replace" => Self::Edit,
            "Bash" | "shell" | "exec_command" | "run_shell_command" => Self::Run,
            "Read"
            | "Grep"
            | "Glob"
            | "LS"
            | "read_file"
            | "read_many_files"
            | "search_file_content"
            | "glob"
            | "list_directory" => Self::Read,
            _ if tool.starts_with("mcp__") || tool.starts_with("mcp_") => Self::Mcp,
            _ => Self::Other,
        }
    }
}

/// What is left of a document that was cleared away.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClearedDocument {
    /// The last revision it had; the next document of the mode goes on from there.
    pub revision: u64,
    /// When it was cleared, if it was a cancelled one.
    pub cancelled_until: Option<Timestamp>,
}

impl SessionActivity {
    /// Notes that a tool was used: holds in a row begin anew.
    pub fn record_tool_use(&mut self, now: Timestamp) {
        self.holds_in_a_row = 0;
        self.last_seen = Some(now);
    }

    /// The revision from which a new document of this mode goes on.
    pub fn last_revision(&self, mode: &str) -> u64 {
        self.cleared.get(mode).map_or(0, |cleared| cleared.revision)
    }

    /// Whether the mode was cancelled and cleared a moment ago.
    pub fn remembers_cancel(&self, mode: &str, now: Timestamp) -> bool {
        self.cleared
            .get(mode)
            .and_then(|cleared| cleared.cancelled_until)
            .is_some_and(|until| now < until)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

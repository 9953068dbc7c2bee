//! omx's own record of a session, kept next to its documents.
//!
//! Counters that change with every tool call must not change a document's `revision`:
//! otherwise an agent's next write would conflict with what it has just read. The record
//! also remembers cancelled modes after their documents are cleared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mode::Mode;
use crate::time::Timestamp;

/// How long only an explicit start can bring a mode back after its cancelled document
/// was cleared.
pub const CANCEL_REMEMBERED_MILLIS: i64 = 60_000;

/// The activity of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionActivity {
    /// When the session last did anything.
    pub last_seen: Option<Timestamp>,
    /// Consecutive holds without a tool call in between.
    pub holds_in_a_row: u32,
    /// Holds of each run, by the name of its mode, whatever happened in between. A linked
    /// mode counts for its parent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub holds: BTreeMap<String, u32>,
    /// The progress fingerprint of the last hold.
    pub fingerprint: Option<u64>,
    /// How many consecutive holds had that fingerprint.
    pub same_fingerprint: u32,
    /// Whether the person interrupted the agent, and neither asked to continue nor has the
    /// agent worked since.
    pub interrupted: bool,
    /// The class of the first tool call after the last hold.
    pub last_tool: Option<ToolClass>,
    /// Cleared documents, by mode name.
    pub cleared: BTreeMap<String, ClearedDocument>,
}

/// A coarse class of tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Edits files.
    Edit,
    /// Runs a command.
    Run,
    /// Only reads.
    Read,
    /// Calls a tool of an MCP server.
    Mcp,
    /// Anything else.
    Other,
}

impl ToolClass {
    /// Classifies a host's tool by its name.
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

/// What the session remembers of a cleared document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClearedDocument {
    /// Its last revision; the mode's next document continues from there.
    pub revision: u64,
    /// Until when its cancel is remembered, if it was cancelled.
    pub cancelled_until: Option<Timestamp>,
}

impl SessionActivity {
    /// Records a tool call, which resets the count of consecutive holds.
    pub fn record_tool_use(&mut self, now: Timestamp) {
        self.holds_in_a_row = 0;
        self.last_seen = Some(now);
    }

    /// Forgets every count of holds: the person started or resumed a run.
    pub fn reset_holds(&mut self) {
        self.holds_in_a_row = 0;
        self.holds.clear();
        self.same_fingerprint = 0;
        self.fingerprint = None;
    }

    /// Returns the record after a write of the agent, if it changes: the agent works again
    /// after an interrupt, and a new run has not been held.
    pub(crate) fn after_write(&self, new_run: Option<Mode>) -> Option<Self> {
        let was_held = new_run.filter(|mode| self.holds.contains_key(mode.name()));
        if was_held.is_none() && !self.interrupted {
            return None;
        }
        let mut updated = self.clone();
        updated.interrupted = false;
        if let Some(mode) = was_held {
            updated.holds.remove(mode.name());
        }
        Some(updated)
    }

    /// The revision from which a new document of this mode continues.
    pub fn last_revision(&self, mode: &str) -> u64 {
        self.cleared.get(mode).map_or(0, |cleared| cleared.revision)
    }

    /// Whether the mode was cancelled and cleared recently.
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

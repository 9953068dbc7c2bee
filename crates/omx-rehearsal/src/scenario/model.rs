//! A scenario, checked and ready to be played.

use std::path::PathBuf;
use std::time::Duration;

use omx_agents::event::UsageDelta;
use omx_kernel::Timestamp;
use serde_json::{Map, Value};

/// A whole scenario: the first entry that matches a call is played.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The file it was read from.
    pub file: PathBuf,
    /// Identifies the file's content.
    pub fingerprint: String,
    /// Makes conversation ids repeatable.
    pub seed: Option<u64>,
    /// Its entries, in order; at least one.
    pub entries: Vec<ScenarioEntry>,
}

/// What the agent does when a call matches.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioEntry {
    /// The line it starts on.
    pub line: usize,
    /// Matches only this role.
    pub role: Option<String>,
    /// Matches only this phase.
    pub phase: Option<String>,
    /// Matches only prompts that contain this text.
    pub text: Option<String>,
    /// How often it can be played; without a number, as often as it matches.
    pub at_most: Option<u32>,
    /// How often it must have been played in the end.
    pub at_least: u32,
    /// What the agent does, in order; at least one step.
    pub steps: Vec<ScenarioStep>,
}

/// One step of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioStep {
    /// The line it starts on.
    pub line: usize,
    /// What the agent does.
    pub action: ScenarioAction,
}

/// Something an agent can do.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioAction {
    /// Say something. The last text of a turn is its answer.
    Say(String),
    /// Say something that is the turn's answer, whatever is said later.
    Answer(String),
    /// Write a whole file.
    Write {
        /// The file, relative to the agent's folder.
        path: PathBuf,
        /// Its new content.
        content: String,
    },
    /// Replace a piece of a file.
    Patch {
        /// The file, relative to the agent's folder.
        path: PathBuf,
        /// Text that occurs in it exactly once.
        find: String,
        /// Its replacement.
        replace: String,
    },
    /// Run a command line.
    Run {
        /// The command line, for `sh -c`.
        command: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
        /// The tool's arguments.
        args: Map<String, Value>,
        /// How long the call may take.
        timeout: Duration,
    },
    /// Give a structured answer.
    Result(Value),
    /// Do nothing for a while.
    Delay(Duration),
    /// Report usage.
    ReportUsage(UsageDelta),
    /// End the turn, or worse. Always the last step.
    Fail(ScenarioFailure),
}

/// The ways in which a turn can fail.
#[derive(Clone, Debug, PartialEq)]
pub enum ScenarioFailure {
    /// The vendor's limit is reached.
    RateLimit {
        /// When it ends.
        end: LimitEnd,
        /// The vendor's message.
        detail: String,
    },
    /// The vendor rejects the account.
    Auth {
        /// The vendor's message.
        detail: String,
    },
    /// The vendor cannot be reached.
    Network {
        /// The system's message.
        detail: String,
    },
    /// The vendor's service fails.
    Service {
        /// The HTTP status.
        status: u16,
        /// The vendor's message.
        detail: String,
    },
    /// The answer breaks off.
    Cut {
        /// The program's message.
        detail: String,
    },
    /// The vendor does not know the model.
    UnknownModel {
        /// The vendor's message.
        detail: String,
    },
    /// The agent's process is killed.
    Crash,
    /// The agent stops responding.
    Hang(HangKind),
}

/// When a limit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitEnd {
    /// The vendor does not say.
    Unknown,
    /// At this moment.
    At(Timestamp),
    /// This long after the agent met it.
    After(Duration),
}

/// Whether a hanging agent still reacts to an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HangKind {
    /// It does.
    Interruptible,
    /// It reacts to nothing, not even to the end of its input.
    Deaf,
}

//! A scenario as it is played. Everything in it has been checked.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use omx_kernel::Timestamp;

use omx_agents::event::Usage;

/// A whole scenario: the first entry that fits a call is played.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Where it was read.
    pub file: PathBuf,
    /// Tells it from every other text.
    pub fingerprint: String,
    /// Makes the ids of conversations repeatable.
    pub seed: Option<u64>,
    /// Its entries, in order; there is at least one.
    pub entries: Vec<Entry>,
}

/// What the agent does when a call fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Where it begins in the file.
    pub line: usize,
    /// Only for this role.
    pub role: Option<String>,
    /// Only in this phase.
    pub phase: Option<String>,
    /// Only if the prompt holds this text.
    pub text: Option<String>,
    /// How often it can be played; without a number, as often as it fits.
    pub at_most: Option<u32>,
    /// How often it must have been played in the end.
    pub at_least: u32,
    /// What is done, in order; there is at least one step.
    pub steps: Vec<Step>,
}

/// One step of an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Where it stands in the file.
    pub line: usize,
    /// What is done.
    pub action: Action,
}

/// What an agent can do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Say something. The last words of a turn are its answer.
    Say(String),
    /// Say something that is the answer, whatever is said after it.
    Answer(String),
    /// Write a whole file.
    Write {
        /// Which, seen from the agent's folder.
        path: PathBuf,
        /// All that is in it afterwards.
        content: String,
    },
    /// Replace a piece of a file.
    Patch {
        /// Which, seen from the agent's folder.
        path: PathBuf,
        /// A text that stands in it exactly once.
        find: String,
        /// What stands there afterwards.
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
        /// What it is given.
        args: Map<String, Value>,
        /// How long it may take.
        patience: Duration,
    },
    /// Give a structured answer.
    Result(Value),
    /// Do nothing for a while.
    Delay(Duration),
    /// Spend something.
    Spend(Usage),
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
        /// The vendor's words.
        detail: String,
    },
    /// The account is refused.
    Auth {
        /// The vendor's words.
        detail: String,
    },
    /// The vendor cannot be reached.
    Network {
        /// The system's words.
        detail: String,
    },
    /// The vendor's service fails.
    Service {
        /// The HTTP status.
        status: u16,
        /// The vendor's words.
        detail: String,
    },
    /// The answer breaks off.
    Cut {
        /// The program's words.
        detail: String,
    },
    /// The model is not known.
    UnknownModel {
        /// The vendor's words.
        detail: String,
    },
    /// The agent's process is killed.
    Crash,
    /// The agent says nothing any more.
    Hang(Ears),
}

/// When a limit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitEnd {
    /// The vendor does not say.
    Unsaid,
    /// At this moment.
    At(Timestamp),
    /// So long after it was met.
    After(Duration),
}

/// Whether an agent that hangs still hears an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ears {
    /// It does.
    Open,
    /// It hears nothing, not even that its input was closed.
    Deaf,
}

//! What an agent tells while it works: the same events for every program.

use std::path::PathBuf;

use serde_json::Value;

pub use omx_kernel::approval::{ApprovalRequest, TargetLocation};

use crate::agent::ConversationId;
use crate::failure::Failure;

/// A tool call of the agent, by the program's own name for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub String);

/// An approval that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(pub String);

/// What kind of tool is at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolAction {
    /// A command line in a shell.
    Command(String),
    /// A change of these files.
    Edit(Vec<PathBuf>),
    /// A tool of an MCP server.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
    /// Any other tool of the program, by its name.
    Other(String),
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// It did what it should.
    Succeeded,
    /// It failed, or was not allowed.
    Failed,
    /// A command ended with this code.
    Exited(i64),
}

/// How words that were said to the agent reached it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// They began a turn.
    Turn,
    /// They reached the turn that runs.
    Steered,
    /// They wait until the turn that runs is over.
    Queued,
}

/// What was spent since the last such event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageDelta {
    /// Tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Of these, tokens read from a cache.
    pub cached_tokens: u64,
    /// Tokens written, thinking included.
    pub output_tokens: u64,
    /// Millionths of a US dollar, where the program says so.
    pub micro_usd: Option<u64>,
}

/// The end of a turn's work.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnAnswer {
    /// The final words.
    pub text: String,
    /// The result the program says fits the message's schema. It still is
    /// only what the program says.
    pub structured: Option<Value>,
}

/// Something that happened in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// The conversation is open. Told before anything is sent to a model,
    /// except where `Listening` was.
    Started {
        /// Its id.
        conversation: ConversationId,
        /// The model, where the program says it.
        model: Option<String>,
    },
    /// The program takes words, and names the conversation only when it has the
    /// first of them: `Started` follows then.
    Listening,
    /// The agent's program has taken what was said.
    Delivered(Delivery),
    /// The agent said this: a finished piece of text, not a fragment.
    Text(String),
    /// A tool is at work.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolAction,
    },
    /// A tool is done.
    ToolFinished {
        /// The call.
        call: CallId,
        /// How it ended.
        end: ToolOutcome,
    },
    /// The agent's program says it changed a file.
    FileChanged(PathBuf),
    /// The agent waits for an answer.
    ApprovalNeeded {
        /// What to answer to.
        approval: ApprovalId,
        /// What it wants to do.
        ask: ApprovalRequest,
    },
    /// What was spent.
    Usage(UsageDelta),
    /// The program met trouble and tries again by itself.
    Retrying(Failure),
    /// The turn is over.
    TurnFinished(TurnAnswer),
    /// The turn was interrupted, as ordered.
    TurnInterrupted,
    /// The turn failed. The conversation may still be usable.
    TurnFailed(Failure),
    /// The conversation is over and nothing it started is left. With trouble
    /// if it was not ordered, or if something would not end. Always the last
    /// event.
    Ended(Option<Failure>),
}

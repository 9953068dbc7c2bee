//! Events of a conversation, the same for every agent.

use std::path::PathBuf;

use serde_json::Value;

pub use omx_kernel::approval::{ApprovalRequest, TargetLocation};

use crate::agent::ConversationId;
use crate::failure::Failure;

/// The program's own id of a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub String);

/// The id of an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApprovalId(pub String);

/// What a tool call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolAction {
    /// Runs a command line in a shell.
    Command(String),
    /// Edits these files.
    Edit(Vec<PathBuf>),
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name.
        tool: String,
    },
    /// Uses another tool of the program, by name.
    Other(String),
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// It succeeded.
    Succeeded,
    /// It failed or was denied.
    Failed,
    /// A command exited with this code.
    Exited(i64),
}

/// How a message reached the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It started a turn.
    Turn,
    /// It reached the running turn.
    Steered,
    /// It waits until the running turn ends.
    Queued,
}

/// Tokens and money used since the previous report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageDelta {
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Input tokens that were read from a cache.
    pub cached_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Millionths of a US dollar, if the program reports a cost.
    pub micro_usd: Option<u64>,
}

/// The answer that ends a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnAnswer {
    /// The final message.
    pub text: String,
    /// The structured result, if the program returned one. It is unchecked:
    /// the program's claim that it matches the schema is not trusted.
    pub structured: Option<Value>,
}

/// Something that happened in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    /// The conversation is open. Emitted before anything is sent to a model,
    /// unless `Listening` was emitted first.
    Started {
        /// Its id.
        conversation: ConversationId,
        /// The model, if the program reports it.
        model: Option<String>,
    },
    /// The program accepts messages but names the conversation only after the
    /// first one; `Started` follows then.
    Listening,
    /// The agent's program has accepted a message.
    Delivered(Delivery),
    /// A complete piece of text from the agent, not a fragment.
    Text(String),
    /// A tool call started.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        tool: ToolAction,
    },
    /// A tool call finished.
    ToolFinished {
        /// The call.
        call: CallId,
        /// How it ended.
        end: ToolOutcome,
    },
    /// The agent's program reports that it changed a file.
    FileChanged(PathBuf),
    /// The agent waits for an approval.
    ApprovalNeeded {
        /// The id to answer with.
        approval: ApprovalId,
        /// What it wants to do.
        ask: ApprovalRequest,
    },
    /// Tokens and money used.
    Usage(UsageDelta),
    /// A request failed and the program retries it on its own.
    Retrying(Failure),
    /// The turn finished.
    TurnFinished(TurnAnswer),
    /// The turn was interrupted, as commanded.
    TurnInterrupted,
    /// The turn failed. The conversation may still be usable.
    TurnFailed(Failure),
    /// The conversation has ended and everything it started is gone. Carries
    /// a failure if the end was not commanded or a process survived. Always
    /// the last event.
    Ended(Option<Failure>),
}

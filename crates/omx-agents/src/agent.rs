//! The interface to an agent: how to open a conversation, and the commands it takes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use omx_kernel::approval::AllowLevel;

use crate::event::ApprovalId;
use crate::sandbox::AgentSandbox;

/// The agent program's own id of a conversation, with which the conversation
/// can be resumed. Safe as an argument and in a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(String);

impl ConversationId {
    /// Accepts letters, digits, `_` and `-`, starting with a letter or digit, as
    /// in the ids of all supported programs.
    pub fn new(text: &str) -> Option<Self> {
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        (begins && text.len() <= 128 && text.bytes().all(fits)).then(|| Self(text.to_owned()))
    }

    /// A new id, for programs that let the caller choose.
    pub fn random() -> Self {
        Self(uuid::Uuid::new_v4().to_string())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConversationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a conversation is new or resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationStart {
    /// A new conversation.
    New,
    /// Resume this conversation.
    Resume(ConversationId),
}

/// An MCP server that the agent gets in addition to the person's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServerSpec {
    /// Its name, as the agent sees it.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to its environment. Agents start their servers with a
    /// reduced environment, so anything the server needs must be named here.
    pub env: BTreeMap<String, String>,
}

/// How to open a conversation.
#[derive(Clone, Debug)]
pub struct ConversationSpec {
    /// New, or the conversation to resume.
    pub start: ConversationStart,
    /// The folder the agent works in. It must exist.
    pub folder: PathBuf,
    /// The role's prompt. It joins the program's own instructions where the
    /// program supports that, and precedes the first message otherwise.
    pub role: Option<String>,
    /// The model; the program's default if there is none.
    pub model: Option<String>,
    /// What the agent may do without approval.
    pub allow: AllowLevel,
    /// Additional MCP servers. Tools of the one named `omx` need no approval.
    pub servers: Vec<McpServerSpec>,
    /// What the conversation may cost, in millionths of a US dollar. Programs that
    /// count money themselves stop within a turn.
    pub max_micro_usd: Option<u64>,
    /// The schema of the answer to the first message, if it is known. Some
    /// programs take it only at start and would have to be restarted.
    pub schema: Option<Value>,
    /// What confines the agent.
    pub sandbox: AgentSandbox,
}

/// What a message belongs to. The rehearsal agent chooses its scenario entry
/// by these labels; models never see them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageLabels {
    /// The role's name.
    pub role: Option<String>,
    /// The mode's phase.
    pub phase: Option<String>,
    /// The step of the run. Consecutive messages of one step belong together.
    pub step: Option<String>,
}

/// A message that starts a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentMessage {
    /// The prompt.
    pub text: String,
    /// The JSON schema of the final answer. Programs that support schemas get
    /// it; omx checks the answer in any case.
    pub schema: Option<Value>,
    /// What the message belongs to.
    pub labels: MessageLabels,
}

impl AgentMessage {
    /// A message without a schema or labels.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// The answer to an approval request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Allow the action once.
    Allow,
    /// Deny the action, with the reason for the agent.
    Deny(String),
}

/// A command to an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentCommand {
    /// Start a turn. If a turn is running, the message waits until it ends.
    Send(AgentMessage),
    /// Add text to the running turn: at once if the program supports that,
    /// otherwise with its next step. Starts a turn if none is running.
    Steer(String),
    /// Interrupt the running turn and keep the conversation.
    Interrupt,
    /// Answer an approval request.
    Answer(ApprovalId, ApprovalDecision),
    /// End the conversation and terminate everything it started.
    End,
}

/// One agent in one conversation. Whoever opened it receives its events; the
/// last one is always [`AgentEvent::Ended`](crate::AgentEvent::Ended).
pub trait Agent: Send {
    /// Sends a command. An agent that has ended ignores it; its end was
    /// reported as an event.
    fn command(&self, command: AgentCommand);

    /// Starts a turn.
    fn send(&self, message: AgentMessage) {
        self.command(AgentCommand::Send(message));
    }

    /// Adds text to the running turn.
    fn steer(&self, text: &str) {
        self.command(AgentCommand::Steer(text.to_owned()));
    }

    /// Interrupts the running turn.
    fn interrupt(&self) {
        self.command(AgentCommand::Interrupt);
    }

    /// Answers an approval request.
    fn answer(&self, approval: ApprovalId, decision: ApprovalDecision) {
        self.command(AgentCommand::Answer(approval, decision));
    }

    /// Ends the conversation; [`Event::Ended`](crate::Event::Ended) tells when
    /// nothing of it is left.
    fn end(&self) {
        self.command(AgentCommand::End);
    }
}

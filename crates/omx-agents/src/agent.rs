//! What one asks of an agent: to open a conversation, and to do something in it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

use omx_kernel::approval::AllowLevel;

use crate::event::ApprovalId;

/// The name an agent's own program has for a conversation; with it the
/// conversation can be gone on with later. Safe as an argument and in a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConversationId(String);

impl ConversationId {
    /// Takes an id of letters, digits, `_` and `-` that begins with a letter
    /// or digit, as those of all drivers are.
    pub fn new(text: &str) -> Option<Self> {
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        (begins && text.len() <= 128 && text.bytes().all(fits)).then(|| Self(text.to_owned()))
    }

    /// A new one, for programs that let us choose.
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

/// Whether a conversation is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConversationStart {
    /// A new conversation.
    New,
    /// Go on with this one.
    Resume(ConversationId),
}

/// An MCP server the agent gets besides its own.
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

/// A conversation to be opened.
#[derive(Clone, Debug)]
pub struct ConversationSpec {
    /// New, or which one to go on with.
    pub start: ConversationStart,
    /// The folder the agent works in. It exists.
    pub folder: PathBuf,
    /// The role's prompt, put before the agent's own instructions where the
    /// program has a place for it, before the first message where not.
    pub role: Option<String>,
    /// The model; without one, the program's own default.
    pub model: Option<String>,
    /// What the agent may do unasked.
    pub allow: AllowLevel,
    /// MCP servers of ours. The tools of the one named `omx` need no approval.
    pub servers: Vec<McpServerSpec>,
    /// What the answer to the first message must fit, where that is known: some
    /// programs take it when they start, and would have to be started again.
    pub schema: Option<Value>,
}

/// What a message belongs to. The rehearsal agent chooses by it what to play;
/// a model is told of it in words only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageLabels {
    /// The role's name.
    pub role: Option<String>,
    /// The mode's phase.
    pub phase: Option<String>,
    /// The step of the run. A message of the same step as the one before goes
    /// on with the same matter.
    pub step: Option<String>,
}

/// Something said to the agent that begins a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentMessage {
    /// The words.
    pub text: String,
    /// The JSON schema the final answer must fit. Given to the program where
    /// it can use one; the answer is checked by us in any case.
    pub schema: Option<Value>,
    /// What it belongs to.
    pub labels: MessageLabels,
}

impl AgentMessage {
    /// A message whose answer is free text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

/// The answer to an approval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalDecision {
    /// Yes, this once.
    Allow,
    /// No, with the reason for the agent.
    Deny(String),
}

/// What one can tell an agent to do.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentCommand {
    /// Begin a turn. While one runs, it is kept until that one is over.
    Send(AgentMessage),
    /// Say something while a turn runs: heard at once where the program can,
    /// else with the next step. Without a turn it begins one.
    Steer(String),
    /// End the turn; the conversation stays.
    Interrupt,
    /// Answer an approval.
    Answer(ApprovalId, ApprovalDecision),
    /// End the conversation and everything it started.
    End,
}

/// One agent in one conversation. What happens is told as events to whoever
/// opened it; the last one is always [`Event::Ended`](crate::Event::Ended).
pub trait Agent: Send {
    /// Gives an order. An agent that is gone ignores it: that it is gone has
    /// been told as an event.
    fn command(&self, command: AgentCommand);

    /// Begins a turn.
    fn send(&self, message: AgentMessage) {
        self.command(AgentCommand::Send(message));
    }

    /// Says something to a working agent.
    fn steer(&self, text: &str) {
        self.command(AgentCommand::Steer(text.to_owned()));
    }

    /// Ends the turn.
    fn interrupt(&self) {
        self.command(AgentCommand::Interrupt);
    }

    /// Answers an approval.
    fn answer(&self, approval: ApprovalId, decision: ApprovalDecision) {
        self.command(AgentCommand::Answer(approval, decision));
    }

    /// Ends the conversation; [`Event::Ended`](crate::Event::Ended) tells when
    /// nothing of it is left.
    fn end(&self) {
        self.command(AgentCommand::End);
    }
}

//! The protocol between the driver and the rehearsal agent: JSON-RPC, one message
//! a line.
//!
//! The driver requests `open`, `turn`, `steer` and `interrupt`; the agent
//! requests `approve`. Everything else the agent sends is a notification.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use omx_kernel::Timestamp;
use omx_kernel::approval::TargetLocation;

use omx_agents::driver::AgentKind;
use omx_agents::event::{self, AgentEvent, ApprovalRequest, CallId, ToolAction, ToolOutcome};
use omx_agents::failure::{Failure, FailureCause};

/// Opens a conversation.
pub(super) const OPEN: &str = "open";
/// Starts a turn.
pub(super) const TURN: &str = "turn";
/// Sends a message to the busy agent.
pub(super) const STEER: &str = "steer";
/// Interrupts the turn.
pub(super) const INTERRUPT: &str = "interrupt";
/// Requests approval for a tool call.
pub(super) const APPROVE: &str = "approve";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusalKind {
    /// The request is invalid, or not possible now.
    Invalid,
    /// There is no such conversation.
    UnknownConversation,
    /// The scenario cannot be played.
    Scenario,
    /// No turn is running.
    NoTurn,
}

impl RefusalKind {
    const ALL: [Self; 4] = [Self::Invalid, Self::UnknownConversation, Self::Scenario, Self::NoTurn];

    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Invalid => -32600,
            Self::UnknownConversation => 1,
            Self::Scenario => 2,
            Self::NoTurn => 3,
        }
    }

    pub(super) fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// The parameters of [`OPEN`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenParams {
    pub(super) conversation: Option<String>,
    pub(super) folder: PathBuf,
    pub(super) role: Option<String>,
    pub(super) model: Option<String>,
    pub(super) allow: String,
    pub(super) servers: Vec<ServerSpec>,
}

/// An MCP server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ServerSpec {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
}

/// The result of [`OPEN`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenReply {
    pub(super) conversation: String,
    pub(super) model: Option<String>,
}

/// The parameters of [`TURN`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct TurnParams {
    pub(super) text: String,
    pub(super) role: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) step: Option<String>,
}

/// The parameters of [`STEER`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SteerParams {
    pub(super) text: String,
}

/// The parameters of [`APPROVE`].
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum ApprovalParams {
    Edit { path: String },
    Command { command: String },
    Tool { server: String, tool: String },
}

impl From<ApprovalParams> for ApprovalRequest {
    fn from(params: ApprovalParams) -> Self {
        match params {
            // Inside its folder the agent edits without asking.
            ApprovalParams::Edit { path } => {
                Self::Edit { paths: vec![path], location: TargetLocation::Outside }
            }
            // Commands run in the agent's folder.
            ApprovalParams::Command { command } => {
                Self::Command { command, location: TargetLocation::Inside }
            }
            ApprovalParams::Tool { server, tool } => Self::Tool { server, tool },
        }
    }
}

/// The result of [`APPROVE`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum ApprovalAnswer {
    Allow,
    Deny { reason: String },
}

/// What the agent sends without being asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
pub(super) enum PlayerNotification {
    Said {
        text: String,
    },
    ToolStarted {
        call: String,
        tool: PlayerToolUse,
    },
    ToolFinished {
        call: String,
        end: PlayerToolOutcome,
    },
    FileChanged {
        path: PathBuf,
    },
    #[serde(rename = "spent")]
    Usage(UsageParams),
    TurnFinished(PlayerAnswer),
    TurnInterrupted {},
    TurnFailed(PlayerFailure),
}

/// The use of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PlayerToolUse {
    Command(String),
    Edit(PathBuf),
    Mcp { server: String, tool: String },
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PlayerToolOutcome {
    Succeeded,
    Failed,
    Exited(i64),
}

/// What was usage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct UsageParams {
    pub(super) input: u64,
    pub(super) cached: u64,
    pub(super) output: u64,
    pub(super) micro_usd: Option<u64>,
}

/// A turn's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PlayerAnswer {
    pub(super) text: String,
    pub(super) structured: Option<Value>,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum PlayerFailure {
    RateLimit { until: Option<i64>, detail: String },
    Auth { detail: String },
    Network { detail: String },
    Service { status: u16, detail: String },
    Cut { detail: String },
    UnknownModel { model: Option<String>, detail: String },
    Scenario { detail: String },
}

impl From<PlayerFailure> for FailureCause {
    fn from(failure: PlayerFailure) -> Self {
        match failure {
            PlayerFailure::RateLimit { until, detail } => {
                Self::RateLimited { until: until.map(Timestamp::from_millis), detail }
            }
            PlayerFailure::Auth { detail } => Self::NotLoggedIn { detail },
            PlayerFailure::Network { detail } => Self::Network { detail },
            PlayerFailure::Service { status, detail } => {
                Self::Service { status: Some(status), detail }
            }
            PlayerFailure::Cut { detail } => Self::CutOff { detail },
            PlayerFailure::UnknownModel { model, detail } => Self::UnknownModel { model, detail },
            PlayerFailure::Scenario { detail } => Self::Scenario { detail },
        }
    }
}

impl From<PlayerNotification> for AgentEvent {
    fn from(notification: PlayerNotification) -> Self {
        match notification {
            PlayerNotification::Said { text } => Self::Text(text),
            PlayerNotification::ToolStarted { call, tool } => {
                let tool = match tool {
                    PlayerToolUse::Command(command) => ToolAction::Command(command),
                    PlayerToolUse::Edit(path) => ToolAction::Edit(vec![path]),
                    PlayerToolUse::Mcp { server, tool } => ToolAction::Mcp { server, tool },
                };
                Self::ToolStarted { call: CallId(call), tool }
            }
            PlayerNotification::ToolFinished { call, end } => {
                let end = match end {
                    PlayerToolOutcome::Succeeded => ToolOutcome::Succeeded,
                    PlayerToolOutcome::Failed => ToolOutcome::Failed,
                    PlayerToolOutcome::Exited(code) => ToolOutcome::Exited(code),
                };
                Self::ToolFinished { call: CallId(call), end }
            }
            PlayerNotification::FileChanged { path } => Self::FileChanged(path),
            PlayerNotification::Usage(usage) => Self::Usage(event::UsageDelta {
                input_tokens: usage.input,
                cached_tokens: usage.cached,
                output_tokens: usage.output,
                micro_usd: usage.micro_usd,
            }),
            PlayerNotification::TurnFinished(answer) => Self::TurnFinished(event::TurnAnswer {
                text: answer.text,
                structured: answer.structured,
            }),
            PlayerNotification::TurnInterrupted {} => Self::TurnInterrupted,
            PlayerNotification::TurnFailed(failure) => {
                Self::TurnFailed(Failure::new(AgentKind::Rehearsal, failure.into()))
            }
        }
    }
}

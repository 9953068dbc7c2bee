//! The words between the driver and the rehearsal agent: JSON-RPC as lines.
//!
//! The driver asks `open`, `turn`, `steer` and `interrupt`; the agent asks
//! `approve`. Everything else the agent tells without being asked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use omx_kernel::Timestamp;
use omx_kernel::approval::TargetLocation;

use omx_agents::driver::AgentKind;
use omx_agents::event::{self, AgentEvent, ApprovalRequest, CallId, ToolAction, ToolOutcome};
use omx_agents::failure::{Failure, FailureCause};

/// The method that opens a conversation.
pub(super) const OPEN: &str = "open";
/// The method that begins a turn.
pub(super) const TURN: &str = "turn";
/// The method that says something to the busy agent.
pub(super) const STEER: &str = "steer";
/// The method that ends the turn.
pub(super) const INTERRUPT: &str = "interrupt";
/// The method by which the agent asks for leave.
pub(super) const APPROVE: &str = "approve";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The request makes no sense now.
    Wrong,
    /// There is no such conversation.
    UnknownConversation,
    /// The scenario cannot be played.
    Scenario,
    /// No turn runs that could hear it.
    NoTurn,
}

impl Refused {
    const ALL: [Self; 4] = [Self::Wrong, Self::UnknownConversation, Self::Scenario, Self::NoTurn];

    pub(super) const fn code(self) -> i64 {
        match self {
            Self::Wrong => -32600,
            Self::UnknownConversation => 1,
            Self::Scenario => 2,
            Self::NoTurn => 3,
        }
    }

    pub(super) fn of(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|refused| refused.code() == code)
    }
}

/// What [`OPEN`] is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Open {
    pub(super) conversation: Option<String>,
    pub(super) folder: PathBuf,
    pub(super) role: Option<String>,
    pub(super) model: Option<String>,
    pub(super) allow: String,
    pub(super) servers: Vec<Server>,
}

/// An MCP server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
}

/// What [`OPEN`] answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) conversation: String,
    pub(super) model: Option<String>,
}

/// What [`TURN`] is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) text: String,
    pub(super) role: Option<String>,
    pub(super) phase: Option<String>,
    pub(super) step: Option<String>,
}

/// What [`STEER`] is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Steer {
    pub(super) text: String,
}

/// What [`APPROVE`] asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(super) enum Wish {
    Edit { path: String },
    Command { command: String },
    Tool { server: String, tool: String },
}

impl From<Wish> for ApprovalRequest {
    fn from(wish: Wish) -> Self {
        match wish {
            // Inside its folder the agent edits without asking.
            Wish::Edit { path } => {
                Self::Edit { paths: vec![path], location: TargetLocation::Outside }
            }
            // Commands are run in the agent's folder.
            Wish::Command { command } => {
                Self::Command { command, location: TargetLocation::Inside }
            }
            Wish::Tool { server, tool } => Self::Tool { server, tool },
        }
    }
}

/// What [`APPROVE`] is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub(super) enum Verdict {
    Allow,
    Deny { reason: String },
}

/// What the agent tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
pub(super) enum Told {
    Said { text: String },
    ToolStarted { call: String, tool: Work },
    ToolFinished { call: String, end: End },
    FileChanged { path: PathBuf },
    Spent(Spent),
    TurnFinished(Answer),
    TurnInterrupted {},
    TurnFailed(Failed),
}

/// A tool at work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Work {
    Command(String),
    Edit(PathBuf),
    Mcp { server: String, tool: String },
}

/// How a tool ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Succeeded,
    Failed,
    Exited(i64),
}

/// What was spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) input: u64,
    pub(super) cached: u64,
    pub(super) output: u64,
    pub(super) micro_usd: Option<u64>,
}

/// A turn's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) structured: Option<Value>,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Failed {
    RateLimit { until: Option<i64>, detail: String },
    Auth { detail: String },
    Network { detail: String },
    Service { status: u16, detail: String },
    Cut { detail: String },
    UnknownModel { model: Option<String>, detail: String },
    Scenario { detail: String },
}

impl From<Failed> for FailureCause {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::RateLimit { until, detail } => {
                Self::RateLimited { until: until.map(Timestamp::from_millis), detail }
            }
            Failed::Auth { detail } => Self::NotLoggedIn { detail },
            Failed::Network { detail } => Self::Network { detail },
            Failed::Service { status, detail } => Self::Service { status: Some(status), detail },
            Failed::Cut { detail } => Self::CutOff { detail },
            Failed::UnknownModel { model, detail } => Self::UnknownModel { model, detail },
            Failed::Scenario { detail } => Self::Scenario { detail },
        }
    }
}

impl From<Told> for AgentEvent {
    fn from(told: Told) -> Self {
        match told {
            Told::Said { text } => Self::Text(text),
            Told::ToolStarted { call, tool } => {
                let tool = match tool {
                    Work::Command(command) => ToolAction::Command(command),
                    Work::Edit(path) => ToolAction::Edit(vec![path]),
                    Work::Mcp { server, tool } => ToolAction::Mcp { server, tool },
                };
                Self::ToolStarted { call: CallId(call), tool }
            }
            Told::ToolFinished { call, end } => {
                let end = match end {
                    End::Succeeded => ToolOutcome::Succeeded,
                    End::Failed => ToolOutcome::Failed,
                    End::Exited(code) => ToolOutcome::Exited(code),
                };
                Self::ToolFinished { call: CallId(call), end }
            }
            Told::FileChanged { path } => Self::FileChanged(path),
            Told::Spent(spent) => Self::Usage(event::Usage {
                input_tokens: spent.input,
                cached_tokens: spent.cached,
                output_tokens: spent.output,
                micro_usd: spent.micro_usd,
            }),
            Told::TurnFinished(answer) => Self::TurnFinished(event::TurnAnswer {
                text: answer.text,
                structured: answer.structured,
            }),
            Told::TurnInterrupted {} => Self::TurnInterrupted,
            Told::TurnFailed(failed) => {
                Self::TurnFailed(Failure::new(AgentKind::Rehearsal, failed.into()))
            }
        }
    }
}

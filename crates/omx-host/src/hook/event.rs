//! The events of all hosts, by their meaning.

use std::borrow::Cow;

use omx_kernel::Timestamp;
use omx_kernel::stop::StopCause;
use serde_json::value::RawValue;

/// Why a session starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOpening {
    /// It is new, or resumed.
    Started,
    /// Its history was compacted.
    Compacted,
}

/// An event that a host reports.
#[derive(Clone, Debug)]
pub enum HookEvent<'a> {
    /// A conversation starts, is resumed or was compacted.
    SessionStart(SessionOpening),
    /// A conversation ends.
    SessionEnd,
    /// The person submits a prompt.
    Prompt {
        /// The prompt.
        text: Cow<'a, str>,
        /// The file in which the host keeps the conversation.
        transcript: Option<Cow<'a, str>>,
    },
    /// The agent is about to use a tool.
    BeforeTool {
        /// The tool's name.
        tool: Cow<'a, str>,
        /// The tool's arguments.
        input: Option<&'a RawValue>,
    },
    /// The agent has used a tool.
    AfterTool {
        /// The tool's name.
        tool: Cow<'a, str>,
    },
    /// The agent wants to stop.
    Stop {
        /// Why.
        cause: StopCause,
        /// The agent's last message.
        last_message: Cow<'a, str>,
    },
    /// A failure stopped the agent.
    StopFailure {
        /// Which failure.
        cause: StopCause,
        /// When it passes, if known.
        until: Option<Timestamp>,
    },
    /// The person interrupted the agent.
    Interrupted,
    /// The host is about to compact the conversation.
    Compacting,
    /// Nothing that concerns omx.
    Other,
}

/// The kind of an event, by the host's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HookEventKind {
    SessionStart,
    SessionEnd,
    Prompt,
    BeforeTool,
    AfterTool,
    Stop,
    StopFailure,
    Interrupted,
    Compacting,
    Other,
}

impl HookEventKind {
    /// Parses a name in any host's spelling.
    pub fn parse(name: &str) -> Self {
        let plain = |c: &char| c.is_ascii_alphanumeric();
        let name: String = name.chars().filter(plain).map(|c| c.to_ascii_lowercase()).collect();
        match name.as_str() {
            "sessionstart" => Self::SessionStart,
            "sessionend" => Self::SessionEnd,
            "userpromptsubmit" | "beforeagent" => Self::Prompt,
            "pretooluse" | "beforetool" => Self::BeforeTool,
            "posttooluse" | "posttoolusefailure" | "aftertool" => Self::AfterTool,
            "stop" | "afteragent" => Self::Stop,
            "stopfailure" => Self::StopFailure,
            "interrupt" => Self::Interrupted,
            "precompact" | "precompress" => Self::Compacting,
            _ => Self::Other,
        }
    }
}

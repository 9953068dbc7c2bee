//! The events of all hosts, by what they mean.

use std::borrow::Cow;

use omx_kernel::Timestamp;
use omx_kernel::stop::StopCause;
use serde_json::value::RawValue;

/// Why a conversation begins to be told things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOpening {
    /// It begins, or is taken up again.
    Started,
    /// Its past was compacted.
    Compacted,
}

/// Something that happened in a host.
#[derive(Clone, Debug)]
pub enum HookEvent<'a> {
    /// A conversation begins, goes on or was compacted.
    SessionStart(SessionOpening),
    /// A conversation ends.
    SessionEnd,
    /// The person typed something.
    Prompt(Cow<'a, str>),
    /// A tool is about to be used.
    BeforeTool {
        /// Its name.
        tool: Cow<'a, str>,
        /// Its arguments.
        input: Option<&'a RawValue>,
    },
    /// A tool was used.
    AfterTool {
        /// Its name.
        tool: Cow<'a, str>,
    },
    /// The agent wants to stop.
    Stop {
        /// Why.
        cause: StopCause,
        /// Its last words.
        last_words: Cow<'a, str>,
    },
    /// The agent was stopped by trouble.
    StopFailure {
        /// By which.
        cause: StopCause,
        /// Until when, where that is known.
        until: Option<Timestamp>,
    },
    /// The person interrupted.
    Interrupted,
    /// The conversation is about to be compacted.
    Compacting,
    /// Nothing that concerns omx.
    Other,
}

/// What kind of event a host's name for it means.
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
    /// Reads a name in any host's spelling.
    pub fn named(name: &str) -> Self {
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

//! The real agent programs (Codex, Claude Code, Gemini CLI) in a test: exact
//! versions from npm, a home made for the test, nothing of the machine's
//! environment, and no network but loopback.
//!
//! [`offline`] runs the body of a test in a process of its own inside a new
//! network namespace: the test binary starts itself again under `unshare`,
//! asked for this one test. So the model server, the agent and everything the
//! agent starts share one loopback which nothing else can reach, it works for
//! every user who may make namespaces, and the code of a test needs no care.

mod home;
mod isolation;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

pub use home::AgentHome;
pub use isolation::offline;

use crate::npm::npm_tool;
use crate::run::CommandOutcome;

/// An agent program in the version the tests are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentCli {
    /// OpenAI Codex CLI.
    Codex,
    /// Claude Code.
    Claude,
    /// Gemini CLI.
    Gemini,
}

impl AgentCli {
    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
        }
    }

    /// The version the tests are written for.
    pub fn version(self) -> &'static str {
        match self {
            Self::Codex => "0.166.0",
            Self::Claude => "2.1.197",
            Self::Gemini => "0.61.0",
        }
    }

    /// The installed program; installs it from npm if need be, which takes
    /// a network.
    pub fn program(self) -> PathBuf {
        let package = match self {
            Self::Codex => "@openai/codex",
            Self::Claude => "@anthropic-ai/claude-code",
            Self::Gemini => "@google/gemini-cli",
        };
        npm_tool(self.name(), &format!("{package}@{}", self.version()), self.name())
    }
}

/// A headless run that has ended.
#[derive(Debug)]
pub struct AgentRun {
    /// How the program ended.
    pub outcome: CommandOutcome,
    /// The events it printed, one JSON object a line.
    pub events: Vec<Value>,
    /// How long it took.
    pub took: Duration,
    cli: AgentCli,
}

impl AgentRun {
    /// The events of a type.
    pub fn of_type(&self, name: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == name).collect()
    }

    /// The only event of a type.
    #[track_caller]
    pub fn only(&self, name: &str) -> &Value {
        match self.of_type(name)[..] {
            [event] => event,
            _ => panic!("not one event {name}: {self:#?}"),
        }
    }

    /// The last thing the model said.
    #[track_caller]
    pub fn final_text(&self) -> String {
        let text = match self.cli {
            AgentCli::Codex => {
                let events = self.of_type("item.completed").into_iter().rev();
                let text_seen =
                    events.map(|event| &event["item"]).find(|item| item["type"] == "agent_message");
                text_seen.and_then(|item| item["text"].as_str()).map(str::to_owned)
            }
            AgentCli::Claude => self.only("result")["result"].as_str().map(str::to_owned),
            // Text arrives in pieces; a tool starts it anew.
            AgentCli::Gemini => {
                let mut turns = self.events.rsplit(|event| event["type"] == "tool_result");
                turns.next().map(|events| {
                    let text_seen = events.iter().filter(|event| event["role"] == "assistant");
                    text_seen.filter_map(|event| event["content"].as_str()).collect()
                })
            }
        };
        text.unwrap_or_else(|| panic!("no text at the end: {self:#?}"))
    }
}

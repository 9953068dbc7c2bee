//! The host CLIs omx can be set up in. Flags, setup and help list them from here.

use std::fmt;

use crate::agent_kind::AgentKind;

/// A host: an agent CLI in which a person works and whose hooks call omx.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostKind {
    /// OpenAI Codex CLI.
    Codex,
    /// Claude Code.
    Claude,
    /// Gemini CLI.
    Gemini,
}

impl HostKind {
    /// Every host, in the order in which setup visits them.
    pub const ALL: [Self; 3] = [Self::Codex, Self::Claude, Self::Gemini];

    /// The names of [`Self::ALL`], in the same order.
    pub const NAMES: [&'static str; Self::ALL.len()] = {
        let mut names = [""; Self::ALL.len()];
        let mut index = 0;
        while index < names.len() {
            names[index] = Self::ALL[index].as_str();
            index += 1;
        }
        names
    };

    /// The name on the command line.
    pub const fn as_str(self) -> &'static str {
        self.agent().as_str()
    }

    /// The agent that is the same program.
    pub const fn agent(self) -> AgentKind {
        match self {
            Self::Codex => AgentKind::Codex,
            Self::Claude => AgentKind::Claude,
            Self::Gemini => AgentKind::Gemini,
        }
    }

    /// Finds a host by its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.as_str() == name)
    }
}

impl fmt::Display for HostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

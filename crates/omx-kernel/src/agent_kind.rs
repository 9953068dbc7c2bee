//! The agents omx can drive. Flags, configuration keys and help list them from here.

use std::fmt;

/// An agent omx can drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentKind {
    /// OpenAI Codex CLI.
    Codex,
    /// Claude Code.
    Claude,
    /// Gemini CLI.
    Gemini,
    /// The built-in agent, which plays a scenario.
    Rehearsal,
}

impl AgentKind {
    /// Every agent, in the order in which omx looks for an installed one.
    pub const ALL: [Self; 4] = [Self::Codex, Self::Claude, Self::Gemini, Self::Rehearsal];

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

    /// The name on the command line and in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Rehearsal => "rehearsal",
        }
    }

    /// Finds an agent by its name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// Whether the agent reports what its work costs.
    pub const fn reports_cost(self) -> bool {
        match self {
            Self::Claude | Self::Rehearsal => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// The command that installs the agent.
    pub const fn install_command(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("npm install -g @openai/codex"),
            Self::Claude => Some("npm install -g @anthropic-ai/claude-code"),
            Self::Gemini => Some("npm install -g @google/gemini-cli"),
            Self::Rehearsal => None,
        }
    }

    /// The command that logs the person in.
    pub const fn login_command(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("codex login"),
            Self::Claude => Some("claude, then /login"),
            Self::Gemini => Some("gemini, then /auth"),
            Self::Rehearsal => None,
        }
    }

    /// The files below the home directory that hold the person's login. No other agent
    /// needs them.
    pub const fn login_files(self) -> &'static [&'static str] {
        match self {
            Self::Codex => &[".codex/auth.json"],
            Self::Claude => &[".claude/.credentials.json", ".claude.json"],
            Self::Gemini => &[".gemini/oauth_creds.json", ".gemini/gemini-credentials.json"],
            Self::Rehearsal => &[],
        }
    }
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

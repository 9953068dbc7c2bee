//! Which agents there are, and what each must bring.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use omx_kernel::Timestamp;

use crate::agent::ConversationSpec;
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// An agent omx can drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentKind {
    /// OpenAI Codex CLI.
    Codex,
    /// Claude Code.
    Claude,
    /// Gemini CLI.
    Gemini,
    /// The built-in agent that plays a scenario.
    Rehearsal,
}

impl AgentKind {
    /// All of them, in the order in which one is looked for.
    pub const ALL: [Self; 4] = [Self::Codex, Self::Claude, Self::Gemini, Self::Rehearsal];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Rehearsal => "rehearsal",
        }
    }

    /// The agent of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The command that installs it.
    pub const fn install_command(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("npm install -g @openai/codex"),
            Self::Claude => Some("npm install -g @anthropic-ai/claude-code"),
            Self::Gemini => Some("npm install -g @google/gemini-cli"),
            Self::Rehearsal => None,
        }
    }

    /// The command that logs in.
    pub const fn login_command(self) -> Option<&'static str> {
        match self {
            Self::Codex => Some("codex login"),
            Self::Claude => Some("claude, then /login"),
            Self::Gemini => Some("gemini, then /auth"),
            Self::Rehearsal => None,
        }
    }
}

impl fmt::Display for AgentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a driver knows of the world: read once at the edge.
#[derive(Clone, Debug)]
pub struct AgentEnv {
    /// The caller's environment. Agents get the part of it that they need.
    pub environment: BTreeMap<OsString, OsString>,
    /// This program: it is also the guard and the rehearsal agent.
    pub omx: PathBuf,
    /// The variable that marks a process as one of omx's workers.
    pub worker_variable: String,
    /// Variables that tell every process of an agent which run it belongs to.
    pub child_variables: BTreeMap<String, String>,
    /// The scenario of the rehearsal agent.
    pub scenario: Option<PathBuf>,
    /// Where the rehearsal agent keeps its conversations.
    pub rehearsal_folder: PathBuf,
    /// The wall clock: some vendors tell the end of a limit as a time from now.
    pub clock: fn() -> Timestamp,
}

/// An agent's program, found and fit to be started as far as files can tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The agent.
    pub kind: AgentKind,
    /// The program.
    pub program: PathBuf,
}

/// One agent's driver: how to find the program and how to speak with it.
pub trait Driver: Sync {
    /// Which agent.
    fn kind(&self) -> AgentKind;

    /// Finds the program and looks whether it can work: installed, logged in.
    /// Reads files, starts nothing.
    fn find(&self, surroundings: &AgentEnv) -> Result<Installation, Failure>;

    /// The machine that speaks its protocol in one conversation.
    fn protocol(
        &self,
        opening: &ConversationSpec,
        installation: &Installation,
        surroundings: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure>;
}

/// The driver of a vendor's agent. The rehearsal agent lives in a crate of its
/// own, `omx-rehearsal`, whose `driver` knows every agent.
pub fn driver(kind: AgentKind) -> Option<&'static dyn Driver> {
    match kind {
        AgentKind::Codex => Some(&crate::codex::Codex),
        AgentKind::Claude => Some(&crate::claude::Claude),
        AgentKind::Gemini => Some(&crate::gemini::Gemini),
        AgentKind::Rehearsal => None,
    }
}

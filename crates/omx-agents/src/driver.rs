//! Which agents there are, and what each must bring.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

pub use omx_kernel::AgentKind;
use omx_kernel::Timestamp;

use crate::agent::ConversationSpec;
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// What a driver knows of the world: read once at the edge.
#[derive(Clone, Debug)]
pub struct AgentEnv {
    /// The caller's environment. Agents get the part of it that they need.
    pub variables: BTreeMap<OsString, OsString>,
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
pub struct AgentInstallation {
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
    fn find(&self, env: &AgentEnv) -> Result<AgentInstallation, Failure>;

    /// The machine that speaks its protocol in one conversation.
    fn protocol(
        &self,
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure>;
}

/// The driver of a vendor's agent. The rehearsal agent lives in a crate of its
/// own, `omx-rehearsal`, whose `driver` knows every agent.
pub fn driver(kind: AgentKind) -> Option<&'static dyn Driver> {
    match kind {
        AgentKind::Codex => Some(&crate::codex::CodexDriver),
        AgentKind::Claude => Some(&crate::claude::ClaudeDriver),
        AgentKind::Gemini => Some(&crate::gemini::GeminiDriver),
        AgentKind::Rehearsal => None,
    }
}

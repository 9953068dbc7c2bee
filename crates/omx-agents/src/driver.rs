//! The drivers: how each agent's program is found and spoken to.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub use omx_kernel::AgentKind;
use omx_kernel::Timestamp;

use crate::agent::{ConversationId, ConversationSpec};
use crate::conversation_record::ConversationRecord;
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// The environment of an agent, read once by the command line and passed down.
#[derive(Clone, Debug)]
pub struct AgentEnv {
    /// The caller's environment variables. An agent gets only those it needs.
    pub variables: BTreeMap<OsString, OsString>,
    /// The omx program, which also serves as guard and rehearsal agent.
    pub omx: PathBuf,
    /// The variable that marks a process as one of omx's workers.
    pub worker_variable: String,
    /// Variables that tell every process of an agent which run it belongs to.
    pub child_variables: BTreeMap<String, String>,
    /// The scenario of the rehearsal agent.
    pub scenario: Option<PathBuf>,
    /// Where the rehearsal agent keeps its conversations.
    pub rehearsal_folder: PathBuf,
    /// The wall clock. Some vendors report the end of a rate limit as a
    /// duration from now.
    pub clock: fn() -> Timestamp,
}

/// An agent's program that is installed and, as far as files show, logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentInstallation {
    /// The agent.
    pub kind: AgentKind,
    /// The program.
    pub program: PathBuf,
}

/// Variables that lead a program to private state.
pub type PrivateState = BTreeMap<OsString, OsString>;

/// The driver of one agent.
pub trait Driver: Sync {
    /// Which agent.
    fn kind(&self) -> AgentKind;

    /// Finds the program and checks that it is installed and logged in. Reads
    /// files and starts nothing.
    fn find(&self, env: &AgentEnv) -> Result<AgentInstallation, Failure>;

    /// The folders of the program's own state that a confined agent must be able to
    /// change. Never its settings, hooks, plugins or instructions, if that can be avoided:
    /// they run later, in the person's own conversations.
    fn state_folders(&self, env: &AgentEnv) -> Vec<PathBuf>;

    /// What the program's own record of a conversation says about a message. Reads files
    /// and starts nothing. A program without such records says nothing.
    fn find_message(
        &self,
        _env: &AgentEnv,
        _conversation: &ConversationId,
        _message: &str,
    ) -> ConversationRecord {
        ConversationRecord::Unknown
    }

    /// Prepares a folder that stands in for state of the program that it must be able to
    /// write but the person's own conversations depend on. Returns the variables that lead
    /// the program there.
    fn private_state(&self, _env: &AgentEnv, _folder: &Path) -> io::Result<PrivateState> {
        Ok(PrivateState::new())
    }

    /// The protocol state machine of one conversation.
    fn protocol(
        &self,
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure>;
}

/// The driver of a vendor's agent. `omx-rehearsal` adds the rehearsal agent:
/// its `driver` function knows every agent.
pub fn driver(kind: AgentKind) -> Option<&'static dyn Driver> {
    match kind {
        AgentKind::Codex => Some(&crate::codex::CodexDriver),
        AgentKind::Claude => Some(&crate::claude::ClaudeDriver),
        AgentKind::Gemini => Some(&crate::gemini::GeminiDriver),
        AgentKind::Rehearsal => None,
    }
}

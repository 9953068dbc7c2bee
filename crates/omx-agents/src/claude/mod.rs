//! The driver of Claude Code, over its stream of JSON lines: one process for
//! many turns, with messages and control requests in and events out.

mod account;
mod errors;
mod launch;
mod lines;
mod records;
mod stream;
mod tools;
mod usage;

use std::path::PathBuf;

use crate::agent::{ConversationId, ConversationSpec};
use crate::conversation_record::ConversationRecord;
use crate::driver::{AgentEnv, AgentInstallation, AgentKind, Driver};
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;
use crate::sandbox::state_below;

/// What claude writes in its folder during a conversation: transcripts, snapshots of the
/// shell, lists. Not its settings, plugins, commands and memory.
const STATE: [&str; 10] = [
    "projects",
    "sessions",
    "session-env",
    "shell-snapshots",
    "todos",
    "tasks",
    "plans",
    "file-history",
    "debug",
    "cache",
];

/// Drives claude.
#[derive(Debug)]
pub struct ClaudeDriver;

impl Driver for ClaudeDriver {
    fn kind(&self) -> AgentKind {
        AgentKind::Claude
    }

    fn find(&self, env: &AgentEnv) -> Result<AgentInstallation, Failure> {
        account::find_claude(env)
    }

    fn state_folders(&self, env: &AgentEnv) -> Vec<PathBuf> {
        state_below(account::config_folder(env), &STATE)
    }

    fn find_message(
        &self,
        env: &AgentEnv,
        conversation: &ConversationId,
        message: &str,
    ) -> ConversationRecord {
        records::find_message(env, conversation, message)
    }

    fn protocol(
        &self,
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        Ok(Box::new(stream::ClaudeProtocol::new(spec, installation, env, limits)))
    }
}

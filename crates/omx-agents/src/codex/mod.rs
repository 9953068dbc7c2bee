//! The driver of Codex CLI, over `codex app-server`, with `codex exec` as the
//! fallback.

mod account;
mod app_server;
mod approvals;
mod config;
mod errors;
mod exec;
mod items;
mod limit_resets;
mod options;
mod records;
mod shell;
mod transport;
mod trust;
mod usage;

use std::path::PathBuf;

use crate::agent::{ConversationId, ConversationSpec};
use crate::conversation_record::ConversationRecord;
use crate::driver::{AgentEnv, AgentInstallation, AgentKind, Driver};
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// Drives codex.
#[derive(Debug)]
pub struct CodexDriver;

impl Driver for CodexDriver {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn find(&self, env: &AgentEnv) -> Result<AgentInstallation, Failure> {
        account::find_codex(env)
    }

    /// All of its folder: codex keeps databases at its top level. Only for the case that its
    /// own sandbox is off.
    fn state_folders(&self, env: &AgentEnv) -> Vec<PathBuf> {
        config::codex_home(env).into_iter().collect()
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
        let setup = options::CodexOptions::new(spec, installation, env, *limits);
        Ok(Box::new(transport::CodexTransport::new(setup)))
    }
}

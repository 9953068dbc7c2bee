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
mod shell;
mod transport;
mod trust;
mod usage;

use crate::agent::ConversationSpec;
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

//! The driver of Gemini CLI, over the Agent Client Protocol (`gemini --acp`).

mod account;
mod acp;
mod errors;
mod launch;
mod records;
mod retries;
mod session;
mod tools;
mod turn;

use std::path::PathBuf;

use crate::agent::{ConversationId, ConversationSpec};
use crate::conversation_record::ConversationRecord;
use crate::driver::{AgentEnv, AgentInstallation, AgentKind, Driver};
use crate::environment::{find_on_path, variable};
use crate::failure::{Failure, FailureCause};
use crate::limits::AgentLimits;
use crate::protocol::Protocol;
use crate::sandbox::state_below;

/// Drives gemini.
#[derive(Debug)]
pub struct GeminiDriver;

impl Driver for GeminiDriver {
    fn kind(&self) -> AgentKind {
        AgentKind::Gemini
    }

    fn find(&self, env: &AgentEnv) -> Result<AgentInstallation, Failure> {
        let program = find_on_path(env, "gemini")
            .ok_or_else(|| Failure::new(self.kind(), FailureCause::NotInstalled))?;
        account::find_account(env).map_err(|cause| Failure::new(self.kind(), cause))?;
        Ok(AgentInstallation { kind: self.kind(), program })
    }

    /// All of its folder: gemini replaces files at its top level when it starts.
    fn state_folders(&self, env: &AgentEnv) -> Vec<PathBuf> {
        state_below(home(env), &[".gemini"])
    }

    fn find_message(
        &self,
        env: &AgentEnv,
        conversation: &ConversationId,
        message: &str,
    ) -> ConversationRecord {
        records::find_message(home(env), conversation, message)
    }

    fn protocol(
        &self,
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        let account =
            account::find_account(env).map_err(|cause| Failure::new(self.kind(), cause))?;
        let launch = launch::launch(spec, installation, env);
        let session = session::GeminiSession::new(spec.clone(), account);
        Ok(Box::new(acp::AcpProtocol::new(launch, session, *limits, env.clock)))
    }
}

/// The folder that gemini takes for the person's home.
fn home(env: &AgentEnv) -> Option<PathBuf> {
    let home = variable(env, "GEMINI_CLI_HOME").or_else(|| variable(env, "HOME"));
    home.map(PathBuf::from)
}

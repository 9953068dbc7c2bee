//! The driver of Gemini CLI, over the Agent Client Protocol (`gemini --acp`).

mod account;
mod acp;
mod errors;
mod launch;
mod private_home;
mod records;
mod retries;
mod session;
mod tools;
mod turn;

use std::io;
use std::path::{Path, PathBuf};

use crate::agent::{ConversationId, ConversationSpec};
use crate::conversation_record::ConversationRecord;
use crate::driver::{AgentEnv, AgentInstallation, AgentKind, Driver, PrivateState};
use crate::environment::{find_on_path, variable};
use crate::failure::{Failure, FailureCause};
use crate::limits::AgentLimits;
use crate::protocol::Protocol;
use crate::sandbox::state_below;

/// The variable that names the folder with gemini's own.
const HOME: &str = "GEMINI_CLI_HOME";

/// The variable that says how gemini runs commands.
const PTY: &str = "GEMINI_PTY_INFO";

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

    fn state_folders(&self, env: &AgentEnv) -> Vec<PathBuf> {
        state_below(home(env), &private_home::CONVERSATIONS)
    }

    fn private_state(&self, env: &AgentEnv, folder: &Path) -> io::Result<PrivateState> {
        let Some(home) = home(env) else { return Ok(PrivateState::new()) };
        let private = folder.join("gemini");
        private_home::fill(&home, &private)?;
        // A confined program has no terminals, so commands run over pipes.
        Ok([(HOME.into(), private.into()), (PTY.into(), "child_process".into())].into())
    }

    fn find_message(
        &self,
        env: &AgentEnv,
        conversation: &ConversationId,
        message: &str,
    ) -> ConversationRecord {
        match records::find_message(home(env), conversation, message) {
            // Gemini forgets a turn that was interrupted or failed. What is on record may not
            // be in the conversation any longer, so the agent would not know its task.
            ConversationRecord::Received => ConversationRecord::Unknown,
            found => found,
        }
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
    let home = variable(env, HOME).or_else(|| variable(env, "HOME"));
    home.map(PathBuf::from)
}

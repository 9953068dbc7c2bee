//! The driver of Gemini CLI, over the agent client protocol (`gemini --acp`).

mod account;
mod acp;
mod door;
mod errors;
mod launch;
mod retries;
mod tools;
mod turn;

use crate::agent::ConversationSpec;
use crate::driver::{AgentEnv, AgentKind, Driver, Installation};
use crate::environment::on_path;
use crate::failure::{Failure, FailureCause};
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// Drives gemini.
#[derive(Debug)]
pub struct Gemini;

impl Driver for Gemini {
    fn kind(&self) -> AgentKind {
        AgentKind::Gemini
    }

    fn find(&self, surroundings: &AgentEnv) -> Result<Installation, Failure> {
        let program = on_path(surroundings, "gemini")
            .ok_or_else(|| Failure::new(self.kind(), FailureCause::NotInstalled))?;
        account::look(surroundings).map_err(|cause| Failure::new(self.kind(), cause))?;
        Ok(Installation { kind: self.kind(), program })
    }

    fn protocol(
        &self,
        opening: &ConversationSpec,
        installation: &Installation,
        surroundings: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        let account =
            account::look(surroundings).map_err(|cause| Failure::new(self.kind(), cause))?;
        let launch = launch::launch(opening, installation, surroundings);
        let door = door::Door::new(opening.clone(), account);
        Ok(Box::new(acp::Acp::new(launch, door, *limits, surroundings.clock)))
    }
}

//! The driver of Gemini CLI, over the agent client protocol (`gemini --acp`).

mod account;
mod acp;
mod door;
mod errors;
mod launch;
mod retries;
mod tools;
mod turn;

use crate::agent::Opening;
use crate::driver::{AgentKind, Driver, Installation, Surroundings};
use crate::environment::on_path;
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::trouble::{Cause, Trouble};

/// Drives gemini.
#[derive(Debug)]
pub struct Gemini;

impl Driver for Gemini {
    fn kind(&self) -> AgentKind {
        AgentKind::Gemini
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Installation, Trouble> {
        let program = on_path(surroundings, "gemini")
            .ok_or_else(|| Trouble::new(self.kind(), Cause::NotInstalled))?;
        account::look(surroundings).map_err(|cause| Trouble::new(self.kind(), cause))?;
        Ok(Installation { kind: self.kind(), program })
    }

    fn protocol(
        &self,
        opening: &Opening,
        installation: &Installation,
        surroundings: &Surroundings,
        limits: &Limits,
    ) -> Result<Box<dyn Protocol>, Trouble> {
        let account =
            account::look(surroundings).map_err(|cause| Trouble::new(self.kind(), cause))?;
        let launch = launch::launch(opening, installation, surroundings);
        let door = door::Door::new(opening.clone(), account);
        Ok(Box::new(acp::Acp::new(launch, door, *limits, surroundings.clock)))
    }
}

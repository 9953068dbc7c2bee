//! The driver of Codex CLI: over `codex app-server`, and over `codex exec`
//! where that does not work.

mod app_server;
mod approvals;
mod config;
mod errors;
mod exec;
mod find;
mod items;
mod reset;
mod setup;
mod shell;
mod spent;
mod trust;
mod way;

use crate::agent::ConversationSpec;
use crate::driver::{AgentEnv, AgentKind, Driver, Installation};
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// Drives codex.
#[derive(Debug)]
pub struct Codex;

impl Driver for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn find(&self, surroundings: &AgentEnv) -> Result<Installation, Failure> {
        find::find(surroundings)
    }

    fn protocol(
        &self,
        opening: &ConversationSpec,
        installation: &Installation,
        surroundings: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        let setup = setup::Setup::new(opening, installation, surroundings, *limits);
        Ok(Box::new(way::Way::new(setup)))
    }
}

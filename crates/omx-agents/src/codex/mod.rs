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

use crate::agent::Opening;
use crate::driver::{AgentKind, Driver, Installation, Surroundings};
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::trouble::Trouble;

/// Drives codex.
#[derive(Debug)]
pub struct Codex;

impl Driver for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn find(&self, surroundings: &Surroundings) -> Result<Installation, Trouble> {
        find::find(surroundings)
    }

    fn protocol(
        &self,
        opening: &Opening,
        installation: &Installation,
        surroundings: &Surroundings,
        limits: &Limits,
    ) -> Result<Box<dyn Protocol>, Trouble> {
        let setup = setup::Setup::new(opening, installation, surroundings, *limits);
        Ok(Box::new(way::Way::new(setup)))
    }
}

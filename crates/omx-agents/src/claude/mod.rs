//! Claude Code, driven over its stream of JSON lines: one process for many
//! turns, messages and control requests in, events out.

mod errors;
mod find;
mod launch;
mod lines;
mod stream;
mod tally;
mod tools;

use crate::agent::Opening;
use crate::driver::{AgentKind, Driver, Installation, Surroundings};
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::trouble::Trouble;

/// Drives claude.
#[derive(Debug)]
pub struct Claude;

impl Driver for Claude {
    fn kind(&self) -> AgentKind {
        AgentKind::Claude
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
        Ok(Box::new(stream::Stream::new(opening, installation, surroundings, limits)))
    }
}

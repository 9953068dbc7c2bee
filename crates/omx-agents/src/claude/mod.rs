//! Claude Code, driven over its stream of JSON lines: one process for many
//! turns, messages and control requests in, events out.

mod errors;
mod find;
mod launch;
mod lines;
mod stream;
mod tally;
mod tools;

use crate::agent::ConversationSpec;
use crate::driver::{AgentEnv, AgentKind, Driver, Installation};
use crate::failure::Failure;
use crate::limits::AgentLimits;
use crate::protocol::Protocol;

/// Drives claude.
#[derive(Debug)]
pub struct Claude;

impl Driver for Claude {
    fn kind(&self) -> AgentKind {
        AgentKind::Claude
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
        Ok(Box::new(stream::Stream::new(opening, installation, surroundings, limits)))
    }
}

//! The driver of codex.

use crate::agent::Opening;
use crate::driver::{AgentKind, Driver, Installation, Surroundings};
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::trouble::{Cause, Trouble};

/// Drives codex.
#[derive(Debug)]
pub struct Codex;

impl Driver for Codex {
    fn kind(&self) -> AgentKind {
        AgentKind::Codex
    }

    fn find(&self, _: &Surroundings) -> Result<Installation, Trouble> {
        Err(Trouble::new(self.kind(), Cause::NotInstalled))
    }

    fn protocol(
        &self,
        _: &Opening,
        _: &Installation,
        _: &Surroundings,
        _: &Limits,
    ) -> Result<Box<dyn Protocol>, Trouble> {
        Err(Trouble::new(self.kind(), Cause::NotInstalled))
    }
}

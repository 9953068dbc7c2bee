//! The driver of gemini.

use crate::agent::Opening;
use crate::driver::{AgentKind, Driver, Installation, Surroundings};
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

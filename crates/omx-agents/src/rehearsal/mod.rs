//! The driver of rehearsal.

use crate::agent::Opening;
use crate::driver::{AgentKind, Driver, Installation, Surroundings};
use crate::limits::Limits;
use crate::protocol::Protocol;
use crate::trouble::{Cause, Trouble};

/// Drives rehearsal.
#[derive(Debug)]
pub struct Rehearsal;

impl Driver for Rehearsal {
    fn kind(&self) -> AgentKind {
        AgentKind::Rehearsal
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

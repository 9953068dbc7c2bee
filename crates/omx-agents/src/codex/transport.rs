//! The transport to codex: its app-server, or one `codex exec` process per turn
//! if the app-server does not work.

use std::time::Instant;

use super::app_server::AppServer;
use super::exec::ExecProtocol;
use super::options::CodexOptions;
use crate::protocol::{Protocol, ProtocolEffect, ProtocolEvent};

/// The transport in use.
pub(super) enum CodexTransport {
    AppServer(Box<AppServer>),
    Exec(Box<ExecProtocol>),
}

impl CodexTransport {
    pub(super) fn new(setup: CodexOptions) -> Self {
        Self::AppServer(Box::new(AppServer::new(setup)))
    }
}

impl Protocol for CodexTransport {
    fn start(&mut self, now: Instant) -> Vec<ProtocolEffect> {
        match self {
            Self::AppServer(way) => way.begin(now),
            Self::Exec(_) => Vec::new(),
        }
    }

    fn handle(&mut self, input: ProtocolEvent, now: Instant) -> Vec<ProtocolEffect> {
        match self {
            Self::AppServer(way) => {
                let why = match &input {
                    ProtocolEvent::Exited(exit) => Some(exit.clone()),
                    _ => None,
                };
                let mut effects = way.handle(input, now);
                if way.is_unusable() {
                    let (setup, queue) = way.take_remaining();
                    let mut exec = ExecProtocol::new(setup, queue, why);
                    effects.extend(exec.begin(now));
                    *self = Self::Exec(Box::new(exec));
                }
                effects
            }
            Self::Exec(way) => way.handle(input, now),
        }
    }

    fn has_pending_turn(&self) -> bool {
        match self {
            Self::AppServer(way) => way.owes_turn(),
            Self::Exec(way) => way.owes_turn(),
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        match self {
            Self::AppServer(way) => way.wake(),
            Self::Exec(way) => way.wake(),
        }
    }
}

//! How a process, and with it a conversation, comes to its end.

use std::time::{Duration, Instant};

use super::deadlines::{Deadlines, Due};
use super::time::{GUARD, LIMBO};
use super::{Lead, Turn, Why};
use crate::event::AgentEvent;
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEvent};

/// How long its processes are looked for after a guard was killed.
const SWEEP: Duration = Duration::from_secs(2);

impl Lead {
    /// The process and all it started are gone.
    pub(super) fn bury(&mut self, now: Instant) {
        let Some(running) = self.running.take() else { return };
        // A guard that did not say so was killed; what it guarded may live.
        self.outlived += running.left.unwrap_or_else(|| {
            let mark = running.mark.as_deref().map(|mark| (self.worker_variable.as_str(), mark));
            running.process.kill_leftovers(mark, SWEEP)
        });
        let stderr = running.process.stderr();
        running.process.reap();
        self.deadlines.expect_nothing_of_process();
        if self.over.is_some() {
            return;
        }
        self.expect_more(now);
        if !self.held.is_empty() {
            let held = std::mem::take(&mut self.held);
            return self.carry_out(held.into(), now);
        }
        if let Some(number) = running.cannot_start {
            let system = std::io::Error::from_raw_os_error(number);
            let cause =
                FailureCause::CannotStart { detail: format!("{}: {system}", running.program) };
            return self.finish(Some(self.trouble(cause)), now);
        }
        let exit = AgentExit { code: running.exit_code, stderr };
        self.feed(ProtocolEvent::Exited(exit), now);
    }

    /// Ends a process that makes room for the next.
    pub(super) fn dismiss(&mut self, now: Instant) {
        self.ask_to_leave(now + self.limits.end);
    }

    /// Ends a process whose end the protocol waits for.
    pub(super) fn stop(&mut self, now: Instant) {
        self.ask_to_leave(now);
        if self.turn == Turn::Interrupting {
            // The program has done its part; what is left is the guard's.
            self.deadlines.set(Due::Interrupt, now + GUARD + LIMBO);
        }
    }

    /// Ends a process, by force if it is still there by then.
    fn ask_to_leave(&mut self, by: Instant) {
        if let Some(running) = &mut self.running {
            running.process.close_input();
            self.deadlines.clear(Due::Write);
            self.deadlines.set(Due::Leave, by);
        }
    }

    /// The conversation is over; its process is told to go.
    pub(super) fn finish(&mut self, mut why: Why, now: Instant) {
        if self.over.is_some() {
            return;
        }
        let garbage = self.running.as_ref().and_then(|running| running.garbage.sample());
        if let (Some(trouble), Some(sample)) = (&mut why, garbage) {
            // It was not silent: it said nothing of its protocol.
            if matches!(trouble.cause, FailureCause::Silent { .. }) {
                trouble.cause = FailureCause::Garbage { sample };
            }
        }
        self.held.clear();
        match (self.turn, &why) {
            (Turn::None, _) => {}
            (Turn::Running, Some(trouble)) => (self.tell)(AgentEvent::TurnFailed(trouble.clone())),
            (Turn::Running | Turn::Interrupting, _) => (self.tell)(AgentEvent::TurnInterrupted),
        }
        self.turn = Turn::None;
        let polite = why.is_none();
        self.over = Some(why);
        self.deadlines = Deadlines::default();
        self.ask_to_leave(if polite { now + self.limits.end } else { now });
    }
}

//! How a process, and with it a conversation, comes to its end.

use std::time::{Duration, Instant};

use super::deadlines::{ConversationDeadlines, DeadlineKind};
use super::timeouts::{DRAIN_TIMEOUT, GUARD_TIMEOUT};
use super::{ConversationLoop, EndReason, TurnState};
use crate::event::AgentEvent;
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEvent};

/// How long its processes are looked for after a guard was killed.
const SWEEP: Duration = Duration::from_secs(2);

impl ConversationLoop {
    /// The process and all it started are gone.
    pub(super) fn process_ended(&mut self, now: Instant) {
        let Some(running) = self.running.take() else { return };
        // A guard that did not say so was killed; what it guarded may live.
        self.processes_left += running.left.unwrap_or_else(|| {
            let mark = running.mark.as_deref().map(|mark| (self.worker_variable.as_str(), mark));
            running.process.kill_leftovers(mark, SWEEP)
        });
        let stderr = running.process.stderr();
        running.process.reap();
        self.deadlines.process_gone();
        if self.over.is_some() {
            return;
        }
        self.restart_silence_timer(now);
        if !self.deferred.is_empty() {
            let held = std::mem::take(&mut self.deferred);
            return self.carry_out(held.into(), now);
        }
        if let Some(number) = running.cannot_start {
            let system = std::io::Error::from_raw_os_error(number);
            let cause =
                FailureCause::CannotStart { detail: format!("{}: {system}", running.program) };
            return self.finish(Some(self.failure(cause)), now);
        }
        let exit = AgentExit { code: running.exit_code, stderr };
        self.feed(ProtocolEvent::Exited(exit), now);
    }

    /// Ends a process that makes room for the next.
    pub(super) fn replace_process(&mut self, now: Instant) {
        self.close_and_expect_exit(now + self.limits.end);
    }

    /// Ends a process whose end the protocol waits for.
    pub(super) fn stop_process(&mut self, now: Instant) {
        self.close_and_expect_exit(now);
        if self.turn == TurnState::Interrupting {
            // The program has done its part; what is left is the guard's.
            self.deadlines.set(DeadlineKind::Interrupt, now + GUARD_TIMEOUT + DRAIN_TIMEOUT);
        }
    }

    /// Ends a process, by force if it is still there by then.
    fn close_and_expect_exit(&mut self, by: Instant) {
        if let Some(running) = &mut self.running {
            running.process.close_input();
            self.deadlines.clear(DeadlineKind::Write);
            self.deadlines.set(DeadlineKind::Exit, by);
        }
    }

    /// The conversation is over; its process is told to go.
    pub(super) fn finish(&mut self, mut why: EndReason, now: Instant) {
        if self.over.is_some() {
            return;
        }
        let garbage = self.running.as_ref().and_then(|running| running.garbage.sample());
        if let (Some(failure), Some(sample)) = (&mut why, garbage) {
            // It was not silent: it said nothing of its protocol.
            if matches!(failure.cause, FailureCause::Silent { .. }) {
                failure.cause = FailureCause::Garbage { sample };
            }
        }
        self.deferred.clear();
        match (self.turn, &why) {
            (TurnState::None, _) => {}
            (TurnState::Running, Some(failure)) => {
                (self.emit_to)(AgentEvent::TurnFailed(failure.clone()))
            }
            (TurnState::Running | TurnState::Interrupting, _) => {
                (self.emit_to)(AgentEvent::TurnInterrupted)
            }
        }
        self.turn = TurnState::None;
        let polite = why.is_none();
        self.over = Some(why);
        self.deadlines = ConversationDeadlines::default();
        self.close_and_expect_exit(if polite { now + self.limits.end } else { now });
    }
}

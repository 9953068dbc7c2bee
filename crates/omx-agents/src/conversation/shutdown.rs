//! How a process, and with it the conversation, ends.

use std::time::{Duration, Instant};

use super::deadlines::{ConversationDeadlines, DeadlineKind};
use super::timeouts::{DRAIN_TIMEOUT, GUARD_TIMEOUT};
use super::{ConversationLoop, EndReason, TurnState};
use crate::event::AgentEvent;
use crate::failure::FailureCause;
use crate::protocol::{AgentExit, ProtocolEvent};

/// How long to look for leftover processes after a guard was killed.
const SWEEP: Duration = Duration::from_secs(2);

impl ConversationLoop {
    /// The process and everything it started are gone.
    pub(super) fn process_ended(&mut self, now: Instant) {
        let Some(running) = self.running.take() else { return };
        // A guard that reported nothing was killed; its processes may be alive.
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
        if running.cannot_confine {
            let cause = FailureCause::CannotStart { detail: stderr };
            return self.finish(Some(self.failure(cause)), now);
        }
        let exit = AgentExit { code: running.exit_code, stderr };
        self.feed(ProtocolEvent::Exited(exit), now);
    }

    /// Ends a process so that the next one can start.
    pub(super) fn replace_process(&mut self, now: Instant) {
        self.close_and_expect_exit(now + self.limits.end);
    }

    /// Ends a process whose exit the protocol waits for.
    pub(super) fn stop_process(&mut self, now: Instant) {
        self.close_and_expect_exit(now);
        if self.turn == TurnState::Interrupting {
            // The program has done its part; the guard cleans up.
            self.deadlines.set(DeadlineKind::Interrupt, now + GUARD_TIMEOUT + DRAIN_TIMEOUT);
        }
    }

    /// Closes a process's input, and terminates it if it has not exited by then.
    fn close_and_expect_exit(&mut self, by: Instant) {
        if let Some(running) = &mut self.running {
            running.process.close_input();
            self.deadlines.clear(DeadlineKind::Write);
            self.deadlines.set(DeadlineKind::Exit, by);
        }
    }

    /// Ends the conversation and its process.
    pub(super) fn finish(&mut self, mut why: EndReason, now: Instant) {
        if self.over.is_some() {
            return;
        }
        let garbage = self.running.as_ref().and_then(|running| running.garbage.sample());
        if let (Some(failure), Some(sample)) = (&mut why, garbage) {
            // It was not silent: it wrote something other than its protocol.
            if matches!(failure.cause, FailureCause::Silent { .. }) {
                failure.cause = FailureCause::Garbage { sample };
            }
        }
        self.deferred.clear();
        match (self.turn, &why) {
            (TurnState::None, _) => {}
            (TurnState::Running, Some(failure)) => {
                (self.listener)(AgentEvent::TurnFailed(failure.clone()))
            }
            (TurnState::Running | TurnState::Interrupting, _) => {
                (self.listener)(AgentEvent::TurnInterrupted)
            }
        }
        self.turn = TurnState::None;
        let polite = why.is_none();
        self.over = Some(why);
        self.deadlines = ConversationDeadlines::default();
        self.close_and_expect_exit(if polite { now + self.limits.end } else { now });
    }
}

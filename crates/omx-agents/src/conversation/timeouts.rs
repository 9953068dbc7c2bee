//! What happens when a deadline passes.

use std::time::{Duration, Instant};

use super::deadlines::DeadlineKind;
use super::{ConversationLoop, TurnState};
use crate::failure::FailureCause;
use crate::protocol::ProtocolEvent;
use omx_process::guard::GuardCommand;

/// How long a process may keep its streams open after its tree is gone, or run
/// on after it closed its streams.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a guard may take to terminate a process tree, including the time
/// it grants the processes.
pub(super) const GUARD_TIMEOUT: Duration = Duration::from_secs(8);

impl ConversationLoop {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let wake = if self.over.is_none() { self.protocol.next_tick() } else { None };
        [self.deadlines.next(), wake].into_iter().flatten().min()
    }

    /// Restarts the silence timer if the program is expected to produce output.
    pub(super) fn restart_silence_timer(&mut self, now: Instant) {
        let leaves = self.running.as_ref().is_some_and(|running| running.is_ending);
        if self.turn != TurnState::None && self.approvals.is_empty() && !leaves {
            self.deadlines.set(DeadlineKind::Silence, now + self.limits.silence);
        }
    }

    pub(super) fn check_deadlines(&mut self, now: Instant) {
        if self.over.is_none() && self.protocol.next_tick().is_some_and(|wake| wake <= now) {
            self.feed(ProtocolEvent::Tick, now);
        }
        if self.over.is_none() && self.protocol.has_pending_turn() {
            // A message that waited for the end of a turn starts the next one.
            self.begin_turn(now);
        }
        while let Some(due) = self.deadlines.take_due(now) {
            self.deadline_passed(due, now);
        }
    }

    /// Handles a deadline that has passed.
    pub(super) fn deadline_passed(&mut self, due: DeadlineKind, now: Instant) {
        let cause = match (due, &mut self.running) {
            (DeadlineKind::Exit, Some(running)) => {
                running.is_ending = true;
                running.process.send_command(GuardCommand::Terminate);
                return self.deadlines.set(DeadlineKind::Guard, now + GUARD_TIMEOUT);
            }
            // The guard does not respond, or another process holds the streams.
            (DeadlineKind::Guard, Some(_)) => return self.process_ended(now),
            (DeadlineKind::Drain, Some(running)) if running.guard_gone => {
                return self.process_ended(now);
            }
            // The program exited and the guard is cleaning up; that has its
            // own deadline.
            (DeadlineKind::Drain, Some(running)) if running.is_ending => {
                return self.deadlines.set_once(DeadlineKind::Guard, now + GUARD_TIMEOUT);
            }
            (DeadlineKind::Drain, Some(running)) => match running.half_closed {
                Some(which) if self.over.is_none() && self.deferred.is_empty() => {
                    FailureCause::PipeClosed { which }
                }
                _ => return,
            },
            (DeadlineKind::Exit | DeadlineKind::Guard | DeadlineKind::Drain, None) => return,
            (DeadlineKind::Start, _) => {
                FailureCause::Silent { waited: self.limits.start, during: "starting" }
            }
            (DeadlineKind::Silence, _) => {
                FailureCause::Silent { waited: self.limits.silence, during: "working" }
            }
            (DeadlineKind::Interrupt, _) => {
                FailureCause::Silent { waited: self.limits.interrupt, during: "being interrupted" }
            }
            (DeadlineKind::Write, _) => FailureCause::PipeClosed { which: "standard input" },
        };
        self.finish(Some(self.failure(cause)), now);
    }
}

//! What must happen by when, and what follows if it does not.

use std::time::{Duration, Instant};

use super::deadlines::DeadlineKind;
use super::{ConversationLoop, TurnState};
use crate::failure::FailureCause;
use crate::protocol::ProtocolEvent;
use omx_process::guard::GuardCommand;

/// How long the streams of a process may stay open after its tree is gone,
/// and the process after its streams are closed.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a guard may take to end a tree, all its own patience included.
pub(super) const GUARD_TIMEOUT: Duration = Duration::from_secs(8);

impl ConversationLoop {
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let wake = if self.over.is_none() { self.protocol.next_tick() } else { None };
        [self.deadlines.next(), wake].into_iter().flatten().min()
    }

    /// The program must say something soon, if it is its turn to.
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
            // Words that waited for the end of a turn are the next.
            self.begin_turn(now);
        }
        while let Some(due) = self.deadlines.take_due(now) {
            self.deadline_passed(due, now);
        }
    }

    /// A deadline has passed.
    pub(super) fn deadline_passed(&mut self, due: DeadlineKind, now: Instant) {
        let cause = match (due, &mut self.running) {
            (DeadlineKind::Exit, Some(running)) => {
                running.is_ending = true;
                running.process.send_command(GuardCommand::Terminate);
                return self.deadlines.set(DeadlineKind::Guard, now + GUARD_TIMEOUT);
            }
            // A guard that does not answer, or streams held by someone else.
            (DeadlineKind::Guard, Some(_)) => return self.process_ended(now),
            (DeadlineKind::Drain, Some(running)) if running.guard_gone => {
                return self.process_ended(now);
            }
            // The program is gone and the guard ends what it left behind, or
            // was told to end it all: that takes its own time.
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

//! What must happen by when, and what follows if it does not.

use std::time::{Duration, Instant};

use super::deadlines::Due;
use super::{Lead, Turn};
use crate::failure::FailureCause;
use crate::protocol::ProtocolEvent;
use omx_process::guard::GuardCommand;

/// How long the streams of a process may stay open after its tree is gone,
/// and the process after its streams are closed.
pub(super) const LIMBO: Duration = Duration::from_secs(1);
/// How long a guard may take to end a tree, all its own patience included.
pub(super) const GUARD: Duration = Duration::from_secs(8);

impl Lead {
    pub(super) fn next_moment(&self) -> Option<Instant> {
        let wake = if self.over.is_none() { self.protocol.wake() } else { None };
        [self.deadlines.next(), wake].into_iter().flatten().min()
    }

    /// The program must say something soon, if it is its turn to.
    pub(super) fn expect_more(&mut self, now: Instant) {
        let leaves = self.running.as_ref().is_some_and(|running| running.is_ending);
        if self.turn != Turn::None && self.approvals.is_empty() && !leaves {
            self.deadlines.set(Due::Silence, now + self.limits.silence);
        }
    }

    pub(super) fn keep_time(&mut self, now: Instant) {
        if self.over.is_none() && self.protocol.wake().is_some_and(|wake| wake <= now) {
            self.feed(ProtocolEvent::Tick, now);
        }
        if self.over.is_none() && self.protocol.owes_turn() {
            // Words that waited for the end of a turn are the next.
            self.begin_turn(now);
        }
        while let Some(due) = self.deadlines.take_due(now) {
            self.run_out(due, now);
        }
    }

    /// A deadline has passed.
    pub(super) fn run_out(&mut self, due: Due, now: Instant) {
        let cause = match (due, &mut self.running) {
            (Due::Leave, Some(running)) => {
                running.is_ending = true;
                running.process.command_guard(GuardCommand::Terminate);
                return self.deadlines.set(Due::Guard, now + GUARD);
            }
            // A guard that does not answer, or streams held by someone else.
            (Due::Guard, Some(_)) => return self.bury(now),
            (Due::Limbo, Some(running)) if running.guard_gone => return self.bury(now),
            // The program is gone and the guard ends what it left behind, or
            // was told to end it all: that takes its own time.
            (Due::Limbo, Some(running)) if running.is_ending => {
                return self.deadlines.set_once(Due::Guard, now + GUARD);
            }
            (Due::Limbo, Some(running)) => match running.half_closed {
                Some(which) if self.over.is_none() && self.held.is_empty() => {
                    FailureCause::PipeClosed { which }
                }
                _ => return,
            },
            (Due::Leave | Due::Guard | Due::Limbo, None) => return,
            (Due::Start, _) => {
                FailureCause::Silent { waited: self.limits.start, during: "starting" }
            }
            (Due::Silence, _) => {
                FailureCause::Silent { waited: self.limits.silence, during: "working" }
            }
            (Due::Interrupt, _) => {
                FailureCause::Silent { waited: self.limits.interrupt, during: "being interrupted" }
            }
            (Due::Write, _) => FailureCause::PipeClosed { which: "standard input" },
        };
        self.finish(Some(self.trouble(cause)), now);
    }
}

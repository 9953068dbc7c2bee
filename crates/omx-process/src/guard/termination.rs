//! Terminates the tree below the guard: SIGINT, SIGTERM, then SIGKILL until nothing is
//! left.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::tree::{kill_children, signal_descendants};

/// How long the tree has after each polite signal.
const GRACE: Duration = Duration::from_millis(1000);
/// How long children are killed without a pause. Each kill may orphan other processes,
/// which then become children of the guard.
const BURST: Duration = Duration::from_millis(20);
/// The pause between two bursts.
const PAUSE: Duration = Duration::from_millis(20);
/// When processes that survive even SIGKILL are given up.
const GIVE_UP: Duration = Duration::from_secs(6);

/// How far the termination of the tree has come.
#[derive(Default)]
pub(super) struct Termination {
    begun: Option<Instant>,
    next: Option<NextAction>,
}

#[derive(Clone, Copy)]
enum NextAction {
    /// Send this signal to every process below, at this time.
    Signal(Instant, Signal),
    /// Kill children without a pause from the first time until the second.
    Kill(Instant, Instant),
}

impl Termination {
    /// Begins with this signal, unless it has begun already.
    pub(super) fn begin(&mut self, now: Instant, signal: Signal) {
        if self.begun.is_none() {
            self.begun = Some(now);
            self.next = Some(NextAction::Signal(now, signal));
        }
    }

    /// Skips the polite signals.
    pub(super) fn kill_now(&mut self, now: Instant) {
        self.begun.get_or_insert(now);
        self.next = Some(NextAction::Kill(now, now + BURST));
    }

    /// How long until [`Self::advance`] has something to do.
    pub(super) fn due_in(&self, now: Instant) -> Option<Duration> {
        let (NextAction::Signal(due, _) | NextAction::Kill(due, _)) = self.next?;
        Some(due.saturating_duration_since(now))
    }

    /// Does what is due. Once it gives up, returns how many processes are left.
    pub(super) fn advance(&mut self, now: Instant) -> Option<usize> {
        let own = std::process::id();
        let next = match self.next? {
            NextAction::Signal(due, _) | NextAction::Kill(due, _) if now < due => return None,
            NextAction::Signal(_, signal) => {
                signal_descendants(own, signal);
                let due = now + GRACE;
                match signal {
                    Signal::INT => NextAction::Signal(due, Signal::TERM),
                    _ => NextAction::Kill(due, due + BURST),
                }
            }
            NextAction::Kill(due, until) if now < until => {
                kill_children(own);
                NextAction::Kill(due, until)
            }
            NextAction::Kill(..) if self.begun.is_some_and(|begun| now > begun + GIVE_UP) => {
                return Some(signal_descendants(own, Signal::KILL));
            }
            NextAction::Kill(..) => NextAction::Kill(now + PAUSE, now + PAUSE + BURST),
        };
        self.next = Some(next);
        None
    }
}

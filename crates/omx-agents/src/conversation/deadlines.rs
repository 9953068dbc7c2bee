//! The deadlines of one conversation: at most one of each kind.

use std::collections::BTreeMap;
use std::time::Instant;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeadlineKind {
    /// The conversation must be open.
    Start,
    /// The program must produce output.
    Silence,
    /// The interrupted turn must have ended.
    Interrupt,
    /// The program must have read a line.
    Write,
    /// A process that closed a stream must have exited.
    Drain,
    /// A process whose input was closed must have exited.
    Exit,
    /// The guard must have terminated the process tree.
    Guard,
}

/// The pending deadlines.
#[derive(Debug, Default, Clone)]
pub(super) struct ConversationDeadlines(BTreeMap<DeadlineKind, Instant>);

impl ConversationDeadlines {
    pub(super) fn set(&mut self, due: DeadlineKind, when: Instant) {
        self.0.insert(due, when);
    }

    /// Sets a deadline unless it is already set.
    pub(super) fn set_once(&mut self, due: DeadlineKind, when: Instant) {
        self.0.entry(due).or_insert(when);
    }

    pub(super) fn clear(&mut self, due: DeadlineKind) {
        self.0.remove(&due);
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    /// Removes a deadline that has passed.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<DeadlineKind> {
        let due = *self.0.iter().find(|(_, when)| **when <= now)?.0;
        self.0.remove(&due);
        Some(due)
    }

    /// Clears the deadlines of a process that is gone. The deadline of an
    /// interrupt stays: it is a promise to the owner, whatever happens to the
    /// process.
    pub(super) fn process_gone(&mut self) {
        self.0.retain(|due, _| *due == DeadlineKind::Interrupt);
    }

    /// The program exited; everything it left behind must be gone by then.
    pub(super) fn program_gone(&mut self, when: Instant) {
        self.0.retain(|due, _| matches!(due, DeadlineKind::Interrupt | DeadlineKind::Guard));
        self.set_once(DeadlineKind::Guard, when);
    }
}

//! The deadlines of one conversation: at most one of each kind.

use std::collections::BTreeMap;
use std::time::Instant;

/// What a deadline is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DeadlineKind {
    /// The conversation must be open.
    Start,
    /// The program must say something.
    Silence,
    /// The interrupted turn must be over.
    Interrupt,
    /// A line must be taken.
    Write,
    /// A process with a closed stream must be gone.
    Drain,
    /// A process that was asked to leave must have left.
    Exit,
    /// The guard must have ended the tree.
    Guard,
}

/// When each is due.
#[derive(Debug, Default, Clone)]
pub(super) struct ConversationDeadlines(BTreeMap<DeadlineKind, Instant>);

impl ConversationDeadlines {
    pub(super) fn set(&mut self, due: DeadlineKind, when: Instant) {
        self.0.insert(due, when);
    }

    /// Sets it unless it is set.
    pub(super) fn set_once(&mut self, due: DeadlineKind, when: Instant) {
        self.0.entry(due).or_insert(when);
    }

    pub(super) fn clear(&mut self, due: DeadlineKind) {
        self.0.remove(&due);
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.0.values().min().copied()
    }

    /// Takes one that has passed.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<DeadlineKind> {
        let due = *self.0.iter().find(|(_, when)| **when <= now)?.0;
        self.0.remove(&due);
        Some(due)
    }

    /// There is no process of which something could be expected. An interrupt
    /// is a promise to the owner, whatever becomes of the process.
    pub(super) fn process_gone(&mut self) {
        self.0.retain(|due, _| *due == DeadlineKind::Interrupt);
    }

    /// The program is gone; what it left behind must be gone by then.
    pub(super) fn program_gone(&mut self, when: Instant) {
        self.0.retain(|due, _| matches!(due, DeadlineKind::Interrupt | DeadlineKind::Guard));
        self.set_once(DeadlineKind::Guard, when);
    }
}

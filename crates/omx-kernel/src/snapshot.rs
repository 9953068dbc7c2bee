//! The input of every rule: all documents of one scope at one moment.

use std::collections::BTreeMap;

use crate::activity::SessionActivity;
use crate::document::Document;
use crate::ids::Scope;
use crate::mode::Mode;
use crate::time::Timestamp;

/// All readable documents of one scope, with its activity record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// The scope.
    pub scope: Scope,
    /// One document per mode, including ended ones.
    pub documents: BTreeMap<Mode, Document>,
    /// When a document's file last changed: the sign of activity for documents without
    /// `updated_at`.
    pub modified_at: BTreeMap<Mode, Timestamp>,
    /// The session's activity record.
    pub activity: SessionActivity,
}

impl Snapshot {
    /// Creates a snapshot without documents.
    pub fn empty(scope: Scope) -> Self {
        Self {
            scope,
            documents: BTreeMap::new(),
            modified_at: BTreeMap::new(),
            activity: SessionActivity::default(),
        }
    }

    /// Returns a mode's document if it is active.
    pub fn active(&self, mode: Mode) -> Option<&Document> {
        self.documents.get(&mode).filter(|document| document.is_active())
    }

    /// Returns all active modes, in the order in which cancel ends them.
    pub fn active_modes(&self) -> impl Iterator<Item = Mode> {
        Mode::ALL.into_iter().filter(|mode| self.active(*mode).is_some())
    }

    /// Returns the modes that wait for the person, in the order in which cancel ends them.
    pub fn waiting_modes(&self) -> impl Iterator<Item = Mode> {
        let waits = |mode: &Mode| self.documents.get(mode).is_some_and(Document::waits_for_person);
        Mode::ALL.into_iter().filter(waits)
    }

    /// Returns everything that a cancel ends: active modes, and those that wait for the person.
    pub fn open_modes(&self) -> impl Iterator<Item = Mode> {
        Mode::ALL.into_iter().filter(|mode| self.documents.get(mode).is_some_and(Document::is_open))
    }

    /// Whether the mode is active but has shown no activity for too long.
    pub fn is_stale(&self, mode: Mode, now: Timestamp) -> bool {
        self.documents.get(&mode).is_some_and(|document| {
            let touched = match document.get_time("updated_at") {
                Some(_) => None,
                None => self.modified_at.get(&mode).copied(),
            };
            document.is_stale(self.activity.last_seen.max(touched), now)
        })
    }
}

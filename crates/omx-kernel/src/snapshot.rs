//! What the rules decide on: all documents of one scope at one moment.

use std::collections::BTreeMap;

use crate::activity::SessionActivity;
use crate::document::Document;
use crate::ids::Scope;
use crate::mode::Mode;
use crate::time::Timestamp;

/// All readable documents of one scope, with omx's own record of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Snapshot {
    /// Whose documents these are.
    pub scope: Scope,
    /// One document a mode, ended ones included.
    pub documents: BTreeMap<Mode, Document>,
    /// When a document's file last changed: the sign of life of documents that
    /// carry no `updated_at` of their own.
    pub modified_at: BTreeMap<Mode, Timestamp>,
    /// Counters and memory of the session.
    pub activity: SessionActivity,
}

impl Snapshot {
    /// A scope without any document.
    pub fn empty(scope: Scope) -> Self {
        Self {
            scope,
            documents: BTreeMap::new(),
            modified_at: BTreeMap::new(),
            activity: SessionActivity::default(),
        }
    }

    /// The active document of a mode.
    pub fn active(&self, mode: Mode) -> Option<&Document> {
        self.documents.get(&mode).filter(|document| document.is_active())
    }

    /// All active modes, in the order in which they are cancelled.
    pub fn active_modes(&self) -> impl Iterator<Item = Mode> {
        Mode::ALL.into_iter().filter(|mode| self.active(*mode).is_some())
    }

    /// Whether the mode is active without a sign of life for too long.
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

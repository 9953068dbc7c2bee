//! The index of quiet sessions: those without an active mode and without an unreadable
//! document. With it, finding the active ones costs a look at each session's files and
//! reads only those that changed.
//!
//! It is a hint. An entry counts only while the stamps of the session's folder and of all
//! its documents match, so a document that was written by any program, in place or by a
//! rename, is read again. A missing or broken index is made anew.

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use omx_kernel::{Mode, Scope, SessionId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::dir::{self, open};
use crate::documents::session_names;
use crate::error::StoreError;
use crate::lock::LockedStore;
use crate::parallel::map_in_parallel;
use crate::replace::{Durability, replace};
use crate::scope_contents::{ScopeContents, read_folder};
use crate::stamp::FileStamp;
use crate::tree::{StateDir, Store};

const INDEX_FILE: &str = ".sessions-index.jsonl";
const MAX_INDEX_BYTES: usize = 256 * 1024 * 1024;
/// Fewer sessions are read as quickly as an index.
const WORTHWHILE: usize = 64;

/// A quiet session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct QuietSession {
    session: SessionId,
    folder: FileStamp,
    documents: Vec<(String, FileStamp)>,
}

impl QuietSession {
    fn stamp(sessions: &OwnedFd, session: SessionId, modes: &[Mode]) -> Option<Self> {
        let document = |mode: &Mode| {
            let name = mode.file_name();
            let stamp = FileStamp::read(sessions, &format!("{session}/{name}"))?;
            Some((name, stamp))
        };
        Some(Self {
            folder: FileStamp::read(sessions, session.as_str())?,
            documents: modes.iter().map(document).collect::<Option<_>>()?,
            session,
        })
    }

    /// Whether it is unchanged. The folder comes first: a document that appears or
    /// disappears changes it.
    fn is_unchanged(&self, sessions: &OwnedFd) -> bool {
        let session = &self.session;
        FileStamp::read(sessions, session.as_str()) == Some(self.folder)
            && self.documents.iter().all(|(name, stamp)| {
                // The index may come with a clone, and must not lead out of the folder.
                Mode::from_file_name(name).is_some()
                    && FileStamp::read(sessions, &format!("{session}/{name}")) == Some(*stamp)
            })
    }

    fn is_settled(&self, now: Timestamp) -> bool {
        self.folder.is_quiet(now) && self.documents.iter().all(|(_, stamp)| stamp.is_quiet(now))
    }
}

/// The sessions that have something to report.
#[derive(Debug, Default)]
pub struct NoteworthySessions {
    /// Their contents, in the order of their ids.
    pub sessions: Vec<ScopeContents>,
    /// A better index, if it is worth writing.
    index: Option<String>,
}

impl StateDir {
    /// Reads the sessions that have an active mode or an unreadable document.
    pub fn noteworthy_sessions(&self, now: Timestamp) -> Result<NoteworthySessions, StoreError> {
        let path = self.path().join("sessions");
        let mut found = NoteworthySessions::default();
        let Some(folder) = open(&self.fd, "sessions", &path)? else { return Ok(found) };
        let names = session_names(&folder, &path)?;
        let text = if names.len() >= WORTHWHILE { self.read_index() } else { String::new() };
        let known: Vec<&str> = text.lines().collect();
        let unchanged = map_in_parallel(&known, |line| {
            let entry: QuietSession = serde_json::from_str(line).ok()?;
            entry.is_unchanged(&folder).then_some(entry.session)
        });
        // Both are sorted. A line that is not where it belongs is passed over.
        let mut unchanged = known
            .iter()
            .zip(unchanged)
            .filter_map(|(line, session)| Some((*line, session?)))
            .peekable();
        let mut lines: Vec<Cow<'_, str>> = Vec::new();
        let mut new = 0;
        for session in names {
            while unchanged.next_if(|(_, known)| *known < session).is_some() {}
            match unchanged.next_if(|(_, known)| *known == session) {
                Some((line, _)) => lines.push(Cow::Borrowed(line)),
                None => {
                    let line = self.read_session(&folder, &path, session, now, &mut found);
                    new += usize::from(line.is_some());
                    lines.extend(line.map(Cow::Owned));
                }
            }
        }
        if new >= WORTHWHILE {
            lines.push(Cow::Borrowed(""));
            found.index = Some(lines.join("\n"));
        }
        Ok(found)
    }

    /// Reads a session. Returns its line for the index if it is quiet and has been for a
    /// while.
    fn read_session(
        &self,
        sessions: &OwnedFd,
        path: &Path,
        session: SessionId,
        now: Timestamp,
        found: &mut NoteworthySessions,
    ) -> Option<String> {
        let path = path.join(session.as_str());
        let folder = open(sessions, session.as_str(), &path).ok()??;
        // Take the stamps first: a change while the documents are read makes them stale.
        let scope = Scope::Session(session.clone());
        let before = FileStamp::read(sessions, session.as_str());
        let mut read = read_folder(&folder, &scope, &path).ok()?;
        if read.is_noteworthy() {
            if read.snapshot.active_modes().next().is_some() {
                read.snapshot.activity = self.activity(&scope);
            }
            found.sessions.push(read);
            return None;
        }
        let modes: Vec<Mode> = read.snapshot.documents.keys().copied().collect();
        let entry = QuietSession::stamp(sessions, session, &modes)?;
        let is_settled = before == Some(entry.folder) && entry.is_settled(now);
        is_settled.then(|| serde_json::to_string(&entry).ok())?
    }

    fn read_index(&self) -> String {
        let path = self.path().join(INDEX_FILE);
        let read = dir::read(&self.fd, INDEX_FILE, &path, MAX_INDEX_BYTES).ok().flatten();
        read.and_then(|file| String::from_utf8(file.bytes).ok()).unwrap_or_default()
    }
}

impl Store {
    /// Keeps what was learned about quiet sessions, unless another process holds the lock
    /// or the disk does not take it.
    pub fn keep_session_index(&self, found: &NoteworthySessions) {
        let Some(text) = &found.index else { return };
        if let Ok(locked) = self.lock(Duration::ZERO, "index") {
            let _ = locked.write_session_index(text);
        }
    }
}

impl LockedStore {
    fn write_session_index(&self, text: &str) -> Result<(), StoreError> {
        let path = self.state.path().join(INDEX_FILE);
        replace(&self.state.fd, INDEX_FILE, &path, text.as_bytes(), Durability::Relaxed)
    }
}

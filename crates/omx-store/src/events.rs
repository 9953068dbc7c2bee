//! The event log: one line for each change, written after the change.
//!
//! It is for people and reports; omx never decides anything by it. A failure to write it
//! therefore neither fails nor delays the change.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;

use omx_kernel::{Document, RunId, Scope, SessionId, Timestamp, Value};
use rustix::fs::{AtFlags, FileType, OFlags, fstat, openat, renameat, statat};

use crate::dir::{FILE_MODE, open_or_make};
use crate::lock::LockedStore;
use crate::runs::RUNS;

const FILE: &str = "events.jsonl";
/// The log before the current one. There are never more than two.
const OLD_FILE: &str = "events.1.jsonl";
/// A longer log is set aside.
const MAX_FILE_BYTES: i64 = 32 * 1024 * 1024;
const MAX_LINE: usize = 64 * 1024;

/// What kind of change an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A document was written by a state operation.
    StateWrite,
    /// A document was cleared.
    StateClear,
    /// A mode was cancelled.
    Cancel,
    /// Every document was removed by force.
    Force,
    /// A prompt started a mode.
    Started,
    /// A Stop was held.
    Held,
    /// A Stop was allowed because a mode used up its rounds.
    RanOut,
    /// The agent used a tool.
    AgentWorks,
    /// The person sent a prompt.
    PersonSpoke,
    /// The person interrupted the agent.
    Interrupted,
    /// The conversation is about to be compacted.
    Compacting,
    /// A limit of the model's service stopped the agent.
    Limited,
}

impl EventKind {
    /// The name in the log. Readers outside omx rely on these names.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StateWrite => "state_write",
            Self::StateClear => "state_clear",
            Self::Cancel => "cancel",
            Self::Force => "force",
            Self::Started => "started",
            Self::Held => "held",
            Self::RanOut => "ran_out",
            Self::AgentWorks => "agent_works",
            Self::PersonSpoke => "person_spoke",
            Self::Interrupted => "interrupted",
            Self::Compacting => "compacting",
            Self::Limited => "limited",
        }
    }
}

/// One change, as the log reports it.
#[derive(Clone, Debug)]
pub struct LogEvent {
    /// When it happened.
    pub time: Timestamp,
    /// The run it belongs to. [`LockedStore::log`] fills it in for the session of a run.
    pub run: Option<RunId>,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The team it belongs to.
    pub team: Option<String>,
    /// Which interface made the change: command line, MCP, hook, conductor.
    pub actor: &'static str,
    /// What happened.
    pub kind: EventKind,
    /// The details, as a JSON object.
    pub data: Value,
}

impl LogEvent {
    /// An event of a scope, without details.
    pub fn new(time: Timestamp, actor: &'static str, kind: EventKind, scope: &Scope) -> Self {
        Self {
            time,
            run: None,
            session: scope.session().cloned(),
            team: None,
            actor,
            kind,
            data: Value::record([]),
        }
    }

    /// The same event with the team that a document names, if it names one.
    #[must_use]
    pub fn with_team_of(mut self, document: &Document) -> Self {
        let name = document.get("team_name").and_then(Value::as_str);
        self.team = name.filter(|name| !name.is_empty()).map(str::to_owned);
        self
    }

    /// The same event with these details.
    #[must_use]
    pub fn with_data<const N: usize>(mut self, fields: [(&str, Value); N]) -> Self {
        self.data = Value::record(fields);
        self
    }

    fn line(&self, run: Option<&RunId>, data: &Value) -> String {
        let record = Value::record([
            ("time", Value::string(&self.time.to_string())),
            ("run", Value::string_or_null(run.map(RunId::as_str))),
            ("session", Value::string_or_null(self.session.as_ref().map(SessionId::as_str))),
            ("team", Value::string_or_null(self.team.as_deref())),
            ("actor", Value::string(self.actor)),
            ("kind", Value::string(self.kind.as_str())),
            ("data", data.clone()),
        ]);
        let mut line = crate::json::compact(record.as_json());
        line.push('\n');
        line
    }
}

impl LockedStore {
    /// Appends events, as far as possible. Failures are ignored.
    pub fn log(&self, events: &[LogEvent]) {
        let _ = self.append(events);
    }

    fn append(&self, events: &[LogEvent]) -> std::io::Result<()> {
        let path = self.tree_path.join("log");
        let folder = open_or_make(&self.tree, "log", &path).map_err(std::io::Error::other)?;
        let flags = OFlags::RDWR
            | OFlags::CREATE
            | OFlags::APPEND
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let mut fd = openat(&folder, FILE, flags, FILE_MODE)?;
        let mut stat = fstat(&fd)?;
        if stat.st_size > MAX_FILE_BYTES && FileType::from_raw_mode(stat.st_mode).is_file() {
            renameat(&folder, FILE, &folder, OLD_FILE)?;
            fd = openat(&folder, FILE, flags, FILE_MODE)?;
            stat = fstat(&fd)?;
        }
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(());
        }
        let mut file = File::from(fd);
        let mut text = String::new();
        let mut last = [b'\n'];
        if let Some(end) = u64::try_from(stat.st_size).ok().and_then(|size| size.checked_sub(1)) {
            file.read_exact_at(&mut last, end)?;
        }
        if last != [b'\n'] {
            // A writer was killed in the middle of a line.
            text.push('\n');
        }
        for event in events {
            let run = event.run.clone().or_else(|| self.run_of(event.session.as_ref()?));
            let line = event.line(run.as_ref(), &event.data);
            if line.len() <= MAX_LINE {
                text.push_str(&line);
            } else {
                let cut = Value::record([("cut", Value::bool(true))]);
                text.push_str(&event.line(run.as_ref(), &cut));
            }
        }
        file.write_all(text.as_bytes())
    }

    /// The run whose session this is. A run's session has the run's id; hosts use ids
    /// of the same form, so only a run's folder tells the two apart.
    fn run_of(&self, session: &SessionId) -> Option<RunId> {
        let run = RunId::new(session.as_str()).ok()?;
        let folder = format!("{RUNS}/{run}");
        statat(&self.tree, folder.as_str(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(run)
    }
}

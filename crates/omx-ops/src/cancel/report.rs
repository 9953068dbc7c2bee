//! What a cancel did, for people and for programs.

use std::path::PathBuf;

use omx_kernel::cancel::{CancelEntry, TeamCard};
use omx_kernel::{Mode, RunId, Scope, Value};
use omx_runs::stop::RunTermination;
use omx_store::{QuarantinedDocument, StoreError, UnreadableDocument};

use crate::report;

/// What a cancel did.
#[derive(Debug, Default)]
pub struct CancelReport {
    /// Ended documents, in the order they were written.
    pub cancelled: Vec<(Scope, CancelEntry)>,
    /// Teams of the cancelled scopes, oldest first.
    pub teams: Vec<TeamCard>,
    /// Unreadable documents that were moved aside.
    pub quarantined: Vec<QuarantinedDocument>,
    /// Entries in place of documents that were left alone.
    pub unreadable: Vec<UnreadableDocument>,
    /// Files that force removed.
    pub removed: Vec<PathBuf>,
    /// Files that force kept, because they do not belong to omx.
    pub kept: Vec<PathBuf>,
    /// Runs whose processes were terminated, with the outcome.
    pub runs: Vec<(RunId, RunTermination)>,
    /// The lines for people.
    pub lines: Vec<String>,
}

impl CancelReport {
    /// Reports entries that could not be opened.
    pub(super) fn report_unopened(&mut self, closed: &[StoreError]) {
        self.lines.extend(closed.iter().map(|error| format!("Left alone: {error}")));
    }

    /// The report for programs.
    pub fn value(&self) -> Value {
        let cancelled = self.cancelled.iter().map(|(scope, entry)| {
            Value::record([
                ("mode", Value::string(entry.mode.name())),
                ("session_id", report::scope(scope)),
                ("phase", Value::string_or_null(entry.phase.as_deref())),
                ("linked_to", Value::string_or_null(entry.linked_to.map(Mode::name))),
                ("preserved", Value::bool(entry.preserved)),
            ])
        });
        let paths =
            |paths: &[PathBuf]| Value::array(paths.iter().map(|p| report::path(p)).collect());
        report::with_lists(
            vec![
                ("cancelled", Value::array(cancelled.collect())),
                ("teams", Value::array(self.teams.iter().map(team).collect())),
                ("quarantined", report::quarantined(&self.quarantined)),
                ("message", Value::string(&self.lines.join("\n"))),
            ],
            [
                ("unreadable", report::unreadable(&self.unreadable)),
                ("runs", Value::array(self.runs.iter().map(run).collect())),
                ("removed", paths(&self.removed)),
                ("kept", paths(&self.kept)),
            ],
        )
    }
}

fn team(card: &TeamCard) -> Value {
    Value::record([
        ("team", Value::string(&card.name)),
        ("workers_signaled", Value::integer(0)),
        ("graceful_exits", Value::integer(0)),
        ("force_killed", Value::integer(0)),
        ("tmux_session_destroyed", Value::bool(false)),
        ("state_cleaned_up", Value::bool(false)),
    ])
}

fn run((id, termination): &(RunId, RunTermination)) -> Value {
    Value::record([
        ("id", Value::string(id.as_str())),
        ("process", Value::string(termination.as_str())),
    ])
}

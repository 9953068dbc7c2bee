//! What a cancel did, for people and for programs.

use std::ops::Range;
use std::path::PathBuf;

use omx_kernel::cancel::{CancelEntry, TeamCard};
use omx_kernel::{Mode, Refusal, RunId, Scope, Value};
use omx_runs::stop::RunTermination;
use omx_store::{QuarantinedDocument, Store, StoreError, UnreadableDocument};

use super::documents::every_scope;
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
    /// Whether force removed, or is about to remove, the documents.
    pub is_cleared: bool,
    /// Files that force removed.
    pub removed: Vec<PathBuf>,
    /// Files that force kept, because they do not belong to omx.
    pub kept: Vec<PathBuf>,
    /// Live runs whose document did not say that they are active: they were starting,
    /// or about to end. A mark in the run's folder says that they are cancelled.
    pub starting: Vec<(RunId, Option<Mode>)>,
    /// Scopes whose documents do not say that they are cancelled.
    pub unrecorded: Vec<UnrecordedCancel>,
    /// Runs whose processes were terminated, with the outcome.
    pub runs: Vec<(RunId, RunTermination)>,
    /// Live runs that were left to a later cancel.
    pub left_running: Vec<RunId>,
    /// The lines for people.
    pub lines: Vec<String>,
    /// Which of the lines are about which scope.
    pub(super) lines_of: Vec<(Scope, Range<usize>)>,
}

/// A cancel that its documents do not show.
#[derive(Clone, Debug)]
pub struct UnrecordedCancel {
    /// What was cancelled.
    pub scope: Scope,
    /// Why its documents could not be written.
    pub refusal: Refusal,
    /// The mark that keeps it cancelled, if one could be left.
    pub mark: Option<PathBuf>,
}

impl CancelReport {
    /// Whether there was nothing to cancel.
    pub fn is_empty(&self) -> bool {
        self.cancelled.is_empty()
            && self.starting.is_empty()
            && self.unrecorded.is_empty()
            && self.runs.is_empty()
    }

    /// Why nothing could be done, if nothing was done and nothing is remembered.
    pub(super) fn only_failure(&self) -> Option<Refusal> {
        let is_done =
            !self.cancelled.is_empty() || !self.starting.is_empty() || !self.runs.is_empty();
        let unrecorded = self.unrecorded.first().filter(|_| !is_done)?;
        unrecorded.mark.is_none().then(|| unrecorded.refusal.clone())
    }

    /// Reports that the documents of a scope could not be written. The first reason counts.
    pub(super) fn fail(&mut self, scope: Scope, refusal: Refusal) {
        if !self.unrecorded.iter().any(|unrecorded| unrecorded.scope == scope) {
            self.unrecorded.push(UnrecordedCancel { scope, refusal, mark: None });
        }
    }

    /// The same for every scope in which something is active.
    pub(super) fn fail_scopes(&mut self, store: &Store, refusal: &Refusal) {
        let Ok(Some(state)) = store.read() else {
            return self.fail(Scope::Compatibility, refusal.clone());
        };
        let (scopes, _) = every_scope(&state);
        for scope in scopes {
            if state.scope(&scope).is_ok_and(|read| read.is_noteworthy()) {
                self.fail(scope, refusal.clone());
            }
        }
    }

    /// Words what the documents do not show, and removes marks that they make obsolete.
    /// A run's mark stays until the run is resumed.
    pub(super) fn conclude(&mut self, store: &Store) {
        self.name_sessions();
        for (id, mode) in &self.starting {
            let title = mode.map_or("Run", Mode::title);
            self.lines.push(format!("{title} run {id} cancelled."));
        }
        let written = self.cancelled.iter().map(|(scope, _)| scope);
        for scope in written.filter(|scope| !self.unrecorded.iter().any(|it| it.scope == **scope)) {
            if scope.session().is_none_or(|session| RunId::new(session.as_str()).is_err()) {
                let _ = store.clear_cancel_mark(scope);
            }
        }
        if self.unrecorded.is_empty() {
            return;
        }
        for (id, termination) in &self.runs {
            self.lines.push(match termination {
                RunTermination::StillRunning => format!("Run {id} could not be stopped."),
                _ => format!("Run {id} was stopped."),
            });
        }
        self.lines.extend(self.unrecorded.iter().map(UnrecordedCancel::describe));
    }

    /// Adds the session to each line about one, if there are several.
    fn name_sessions(&mut self) {
        let first = self.lines_of.first().map(|(scope, _)| scope.clone());
        let is_several = self.lines_of.iter().any(|(scope, _)| Some(scope) != first.as_ref());
        for (scope, range) in self.lines_of.iter().filter(|_| is_several) {
            let place = match scope.session() {
                Some(session) => format!(" (session {session})"),
                None => " (outside any session)".to_owned(),
            };
            for line in &mut self.lines[range.clone()] {
                line.push_str(&place);
            }
        }
    }

    /// The refusal that stands for everything that could not be recorded.
    pub fn failure(&self) -> Option<Refusal> {
        let first = self.unrecorded.first()?;
        let lines: Vec<String> = self.unrecorded.iter().map(UnrecordedCancel::describe).collect();
        Some(Refusal::new(first.refusal.code, lines.join(" ")))
    }

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
        let starting = self.starting.iter().map(|(id, mode)| {
            Value::record([
                ("mode", Value::string_or_null(mode.map(Mode::name))),
                ("session_id", Value::string(id.as_str())),
                ("phase", Value::null()),
                ("linked_to", Value::null()),
                ("preserved", Value::bool(!self.is_cleared)),
            ])
        });
        let unrecorded = self.unrecorded.iter().map(|it| {
            let mark = it.mark.as_ref().map(|mark| mark.to_string_lossy());
            Value::record([
                ("session_id", report::scope(&it.scope)),
                ("error", Value::string(&it.refusal.message)),
                ("code", Value::string(it.refusal.code.as_str())),
                ("mark", Value::string_or_null(mark.as_deref())),
            ])
        });
        let mut fields = Vec::new();
        if let Some(failure) = self.failure() {
            fields.push(("error", Value::string(&failure.message)));
            fields.push(("code", Value::string(failure.code.as_str())));
        }
        fields.extend(vec![
            ("cancelled", Value::array(cancelled.chain(starting).collect())),
            ("teams", Value::array(self.teams.iter().map(team).collect())),
            ("quarantined", report::quarantined(&self.quarantined)),
            ("message", Value::string(&self.lines.join("\n"))),
        ]);
        report::with_lists(
            fields,
            [
                ("unrecorded", Value::array(unrecorded.collect())),
                ("unreadable", report::unreadable(&self.unreadable, [])),
                ("runs", Value::array(self.runs.iter().map(run).collect())),
                ("removed", paths(&self.removed)),
                ("kept", paths(&self.kept)),
            ],
        )
    }
}

impl UnrecordedCancel {
    fn describe(&self) -> String {
        let what = match self.scope.session() {
            Some(session) => format!("session {session}"),
            None => "the project".to_owned(),
        };
        let why = &self.refusal.message;
        match &self.mark {
            Some(mark) => format!(
                "The cancel of {what} could not be recorded: {why}. It counts all the same: {} \
                 stands for it until the documents can be written.",
                mark.display()
            ),
            None => format!(
                "The cancel of {what} could not be recorded: {why}. Cancel again once that is \
                 resolved."
            ),
        }
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

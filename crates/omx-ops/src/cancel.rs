//! Cancel: ends what is active, for certain, and says so.

use std::collections::BTreeMap;
use std::path::PathBuf;

use omx_kernel::cancel::{
    CancelEntry, CancelTarget, ScopeChoice, TeamCard, choose_scope, plan_cancel, teams_in_scope,
};
use omx_kernel::{Mode, Refusal, RefusalCode, Scope, SessionId, Value, message};
use omx_store::{
    EventKind, LockedStore, LogEvent, QuarantinedDocument, ScopeContents, StateDir, Store,
    StoreError, UnreadableDocument,
};

use crate::context::Context;
use crate::force;
use crate::input::Input;
use crate::report;

/// What is to be cancelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelRequest {
    /// Active modes of one scope: the named session's, the caller's, or the only one there is.
    Scope(CancelTarget),
    /// Active modes of every session and of the compatibility scope.
    EverySession,
    /// The same, and every file of every mode is cleared away.
    Force,
}

impl CancelRequest {
    /// Understands the arguments of a cancel.
    pub fn of(input: &Input) -> Result<Self, Refusal> {
        input.only(&["session_id", "mode", "force", "all", "every_session", "workingDirectory"])?;
        let mode = input.mode()?;
        let force = input.flag("force")? | input.flag("all")?;
        let everywhere = input.flag("every_session")?;
        let narrowed = mode.is_some() || input.session()?.is_some();
        match (force, everywhere) {
            (true, true) => {
                Err(Refusal::invalid_input("force and every_session exclude each other"))
            }
            (true, _) | (_, true) if narrowed => Err(Refusal::invalid_input(
                "force, all and every_session mean every session and mode; name none with them",
            )),
            (true, _) => Ok(Self::Force),
            (_, true) => Ok(Self::EverySession),
            _ => Ok(Self::Scope(mode.map_or(CancelTarget::Everything, CancelTarget::Mode))),
        }
    }
}

/// What a cancel did.
#[derive(Debug, Default)]
pub struct CancelReport {
    /// Ended documents, in the order in which they were written.
    pub cancelled: Vec<(Scope, CancelEntry)>,
    /// Teams that belonged to what was cancelled, the oldest first.
    pub teams: Vec<TeamCard>,
    /// Unreadable documents that were moved aside.
    pub quarantined: Vec<QuarantinedDocument>,
    /// Things in place of documents that were left alone.
    pub unreadable: Vec<UnreadableDocument>,
    /// Files that force removed.
    pub removed: Vec<PathBuf>,
    /// Files that force left, because they are not omx's.
    pub kept: Vec<PathBuf>,
    /// What a person reads.
    pub lines: Vec<String>,
}

impl CancelReport {
    /// Says what could not be looked into.
    fn leave(&mut self, closed: &[StoreError]) {
        self.lines.extend(closed.iter().map(|error| format!("Left alone: {error}")));
    }

    /// What a program reads.
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

/// Cancels.
pub fn cancel(context: &Context<'_>, input: &Input) -> Result<CancelReport, Refusal> {
    let request = CancelRequest::of(input)?;
    let store = context.store(input)?;
    let mut report = CancelReport::default();
    let state = store.read()?;
    match request {
        CancelRequest::Force => {
            if state.is_some() {
                force::force(context, &store, &mut report)?;
            }
            report.lines.push(message::format_all_cleared(context.dialect));
        }
        CancelRequest::EverySession => {
            let (scopes, closed) = state.as_ref().map(every_scope).unwrap_or_default();
            report.leave(&closed);
            cancel_scopes(context, &store, &scopes, CancelTarget::Everything, &mut report)?;
            if report.cancelled.is_empty() {
                let checked = Checked::Everywhere;
                report.lines.extend(nothing_lines(
                    context,
                    &store,
                    checked,
                    CancelTarget::Everything,
                ));
            }
        }
        CancelRequest::Scope(target) => {
            let (scope, chosen) = match (context.scope(input)?, &state) {
                (Scope::Compatibility, Some(state)) => {
                    (only_scope(context, state, &mut report)?, Chosen::ByOmx)
                }
                (scope, _) => (scope, Chosen::ByCaller),
            };
            let scopes = if state.is_some() { vec![scope.clone()] } else { Vec::new() };
            cancel_scopes(context, &store, &scopes, target, &mut report)?;
            if report.cancelled.is_empty() {
                report.lines.extend(nothing_lines(context, &store, Checked::Scope(&scope), target));
            } else if chosen == Chosen::ByOmx
                && scope != Scope::Compatibility
                && let Some(state) = &state
            {
                report.lines.extend(left_over(context, state));
            }
        }
    }
    Ok(report)
}

/// Who said which scope a cancel is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    /// The request or its surroundings; no other scope is looked at.
    ByCaller,
    /// The only one in which something is active.
    ByOmx,
}

/// Ends the active modes of these scopes, each in its own order.
pub(crate) fn cancel_scopes(
    context: &Context<'_>,
    store: &Store,
    scopes: &[Scope],
    target: CancelTarget,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    // Nothing to do is found out without a lock: an idle project is not touched.
    let Some(state) = store.read()? else { return Ok(()) };
    let mut busy = Vec::new();
    for scope in scopes {
        if state.scope(scope)?.is_noteworthy() {
            busy.push(scope);
        }
    }
    if busy.is_empty() {
        return Ok(());
    }
    let locked = context.lock(store, "cancel")?;
    for scope in busy {
        cancel_scope(context, &locked, scope, target, report)?;
    }
    Ok(())
}

/// Ends the active modes of one scope while the lock is held.
pub(crate) fn cancel_scope(
    context: &Context<'_>,
    locked: &LockedStore,
    scope: &Scope,
    target: CancelTarget,
    report: &mut CancelReport,
) -> Result<(), Refusal> {
    let now = context.now();
    let read: ScopeContents = locked.scope(scope)?;
    let plan = plan_cancel(&read.snapshot, target, context.dialect, now)?;
    let is_meant = |mode: Mode| {
        matches!(target, CancelTarget::Everything) || target == CancelTarget::Mode(mode)
    };
    if let CancelTarget::Mode(mode) = target
        && read.unreadable.iter().any(|found| found.mode == mode && is_not_ours(found))
        && let Some(refusal) = read.refusal(mode)
    {
        return Err(refusal);
    }
    for entry in plan.entries {
        locked.write(scope, entry.mode, &entry.document)?;
        locked.log(&[event(context, scope, &entry)]);
        end_shared(context, locked, scope, entry.mode, report);
        report.lines.extend(message::format_cancelled(&entry, context.dialect, context.reader));
        report.cancelled.push((scope.clone(), entry));
    }
    for found in read.unreadable.into_iter().filter(|found| is_meant(found.mode)) {
        // A document that cannot even be moved aside must not stop a cancel.
        match locked.quarantine(&found, now) {
            Ok(Some(moved)) => {
                report.lines.push(format!(
                    "Unreadable {} state moved to {}",
                    moved.mode.name(),
                    moved.path.display()
                ));
                report.quarantined.push(moved);
            }
            Ok(None) | Err(_) => {
                report.lines.push(format!("Left alone: {}", found.error));
                report.unreadable.push(found);
            }
        }
    }
    Ok(())
}

/// What a mode keeps outside its document and belongs to this scope: told for
/// teams, removed for a swarm. Best effort, the documents are what counts.
fn end_shared(
    context: &Context<'_>,
    locked: &LockedStore,
    scope: &Scope,
    mode: Mode,
    report: &mut CancelReport,
) {
    match mode {
        Mode::Swarm => {
            let _ = locked.remove_swarm_marker(scope);
        }
        Mode::Team => {
            for card in teams_in_scope(scope, locked.state().team_configs()) {
                let path = locked.state().team_path(&card.name);
                let path = path.to_string_lossy();
                report.lines.extend(message::format_team_report(
                    &card.name,
                    &path,
                    context.dialect,
                ));
                report.teams.push(card);
            }
        }
        _ => {}
    }
}

fn is_not_ours(found: &UnreadableDocument) -> bool {
    matches!(found.error, StoreError::Unsafe { .. })
}

/// The scope of a cancel that names no session.
fn only_scope(
    context: &Context<'_>,
    state: &StateDir,
    report: &mut CancelReport,
) -> Result<Scope, Refusal> {
    // A folder of sessions that cannot be entered has none to choose from.
    let active = state.active_sessions().unwrap_or_else(|error| {
        report.leave(&[error]);
        BTreeMap::new()
    });
    match choose_scope(active) {
        ScopeChoice::Compatibility => Ok(Scope::Compatibility),
        ScopeChoice::Only(session) => Ok(Scope::Session(session)),
        ScopeChoice::Ambiguous(sessions) => {
            let list: Vec<String> = sessions
                .iter()
                .map(|(session, modes)| {
                    let modes: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
                    format!("{session} ({})", modes.join(", "))
                })
                .collect();
            Err(Refusal::new(
                RefusalCode::AmbiguousSession,
                format!(
                    "modes are active in several sessions: {}; name one ({} cancel --session-id ID) or cancel all (--every-session)",
                    list.join("; "),
                    context.dialect.name
                ),
            ))
        }
    }
}

/// Every scope that can be opened, and why others cannot: what stands in place
/// of a session must not stop the cancel of the rest.
pub(crate) fn every_scope(state: &StateDir) -> (Vec<Scope>, Vec<StoreError>) {
    let mut scopes = Vec::new();
    let mut closed = state.foreign_session_entries();
    match state.sessions() {
        Ok(sessions) => {
            for scope in sessions.into_iter().map(Scope::Session) {
                match state.scope(&scope) {
                    Ok(_) => scopes.push(scope),
                    Err(error) => closed.push(error),
                }
            }
        }
        Err(error) => closed.push(error),
    }
    scopes.push(Scope::Compatibility);
    (scopes, closed)
}

fn event(context: &Context<'_>, scope: &Scope, entry: &CancelEntry) -> LogEvent {
    LogEvent::new(context.now(), context.actor, EventKind::Cancel, scope)
        .with_team_of(&entry.document)
        .with_data([
            ("mode", Value::string(entry.mode.name())),
            ("revision", Value::integer(entry.document.revision())),
            ("phase", Value::string_or_null(entry.phase.as_deref())),
            ("linked_to", Value::string_or_null(entry.linked_to.map(Mode::name))),
        ])
}

/// Where a cancel looked.
enum Checked<'a> {
    /// In one scope.
    Scope(&'a Scope),
    /// In every session and outside any.
    Everywhere,
}

/// What is said when there was nothing to cancel, with what was looked at.
fn nothing_lines(
    context: &Context<'_>,
    store: &Store,
    checked: Checked<'_>,
    target: CancelTarget,
) -> Vec<String> {
    let state = store.state_path();
    let folders = match checked {
        Checked::Scope(Scope::Compatibility) => vec![state],
        Checked::Scope(Scope::Session(id)) => vec![state.join("sessions").join(id.as_str())],
        Checked::Everywhere => vec![state.join("sessions/*"), state],
    };
    let mut lines = vec![
        message::format_nothing_active(context.dialect),
        String::new(),
        "Checked for:".to_owned(),
    ];
    for mode in Mode::ALL {
        if matches!(target, CancelTarget::Mode(only) if only != mode) {
            continue;
        }
        let paths = folders.iter().map(|folder| {
            let path = folder.join(mode.file_name());
            path.strip_prefix(store.root()).unwrap_or(&path).display().to_string()
        });
        lines.push(format!(" - {} ({})", mode.title(), paths.collect::<Vec<_>>().join(", ")));
    }
    lines.push(String::new());
    lines.push(message::USE_FORCE.to_owned());
    lines
}

/// A hint that something is active without a session, too.
fn left_over(context: &Context<'_>, state: &StateDir) -> Option<String> {
    let read = state.scope(&Scope::Compatibility).ok()?;
    let modes: Vec<&str> = read.snapshot.active_modes().map(Mode::name).collect();
    (!modes.is_empty()).then(|| {
        format!(
            "Still active outside any session: {}. Run {} cancel again to cancel that too.",
            modes.join(", "),
            context.dialect.name
        )
    })
}

/// The sessions among which a person may choose, if a cancel was ambiguous.
pub fn sessions_with_active_modes(
    context: &Context<'_>,
    input: &Input,
) -> Result<Vec<(SessionId, Vec<Mode>)>, Refusal> {
    let Some(state) = context.store(input)?.read()? else { return Ok(Vec::new()) };
    Ok(state.active_sessions()?.into_iter().collect())
}

//! Chooses the scope of a cancel that names none, and words the report if nothing is active there.

use std::collections::{BTreeMap, BTreeSet};

use omx_kernel::activity::SessionActivity;
use omx_kernel::cancel::{CancelTarget, OpenModes, ScopeChoice, choose_scope, meant_sessions};
use omx_kernel::{Mode, Refusal, RefusalCode, RunId, Scope, SessionId, message};
use omx_runs::RunSpec;
use omx_runs::stop::live_runs;
use omx_store::{StateDir, Store, StoreError};

use super::report::CancelReport;
use super::request::{CancelBreadth, CancelRequest, SessionOrigin};
use crate::context::Context;

/// Returns the scope of a cancel that names no session.
pub(super) fn only_scope(
    store: &Store,
    target: CancelTarget,
    report: &mut CancelReport,
) -> Result<Scope, Refusal> {
    let open = active_sessions(store).unwrap_or_else(|error| {
        // Live runs can still be chosen.
        report.report_unopened(&[error]);
        live_sessions(store)
    });
    match choose_scope(open, target) {
        ScopeChoice::Compatibility => {
            Ok(find_unreadable(store, target).unwrap_or(Scope::Compatibility))
        }
        ScopeChoice::Only(session) => Ok(Scope::Session(session)),
        ScopeChoice::Ambiguous(sessions) => {
            let what = match target {
                CancelTarget::Everything => "modes are".to_owned(),
                CancelTarget::Mode(mode) => format!("{} is", mode.name()),
            };
            Err(Refusal::new(
                RefusalCode::AmbiguousSession,
                format!(
                    "{what} active in several sessions: {}; name one by its session id, or \
                     cancel every session",
                    format_sessions(&sessions)
                ),
            ))
        }
    }
}

/// Finds a session in which the document of the mode cannot be read, if the mode is open
/// nowhere: it may be active there, and the person has to learn why it is not cancelled.
fn find_unreadable(store: &Store, target: CancelTarget) -> Option<Scope> {
    let CancelTarget::Mode(mode) = target else { return None };
    let state = store.read().ok()??;
    let outside = state.scope(&Scope::Compatibility).ok()?;
    if outside.snapshot.open_modes().any(|open| open == mode) {
        return None;
    }
    let is_unreadable = |scope: &Scope| {
        state.scope(scope).is_ok_and(|read| read.unreadable.iter().any(|found| found.mode == mode))
    };
    state.sessions().ok()?.into_iter().map(Scope::Session).find(is_unreadable)
}

/// Sessions with their modes, in one line.
fn format_sessions<'a>(
    sessions: impl IntoIterator<Item = (&'a SessionId, &'a OpenModes)>,
) -> String {
    let format_one = |(session, modes): (&SessionId, &OpenModes)| {
        let names: Vec<&str> = modes.all().map(Mode::name).collect();
        format!("{session} ({})", names.join(", "))
    };
    sessions.into_iter().map(format_one).collect::<Vec<_>>().join("; ")
}

/// Finds the session that the request names by an id or a unique prefix of one. Returns
/// the request for that session; `None` if it names none this way.
pub(super) fn select_session(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
) -> Result<Option<CancelRequest>, Refusal> {
    let Some(prefix) = &request.id_prefix else {
        return check_known(context, store, request).map(|()| None);
    };
    let known = known_sessions(store)?;
    let matching = || known.iter().filter(|id| id.as_str().starts_with(prefix.as_str()));
    let exact = known.iter().find(|id| id.as_str() == prefix);
    let session = match (exact, matching().next(), matching().nth(1)) {
        (Some(id), _, _) | (None, Some(id), None) => id.clone(),
        (None, None, _) => {
            return Err(unknown(&format!("run, session or mode is called {prefix:?}")));
        }
        (None, Some(_), Some(_)) => {
            let ids: Vec<&str> = matching().take(5).map(SessionId::as_str).collect();
            return Err(Refusal::new(
                RefusalCode::AmbiguousSession,
                format!("several ids start with {prefix:?}: {}; use a longer one", ids.join(", ")),
            ));
        }
    };
    Ok(Some(CancelRequest { session: Some(session), id_prefix: None, ..request.clone() }))
}

/// Refuses a session that somebody named and that nobody knows: it has no documents, no
/// run and no activity here, and is not a conversation of the caller's host.
fn check_known(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
) -> Result<(), Refusal> {
    let (Some(session), SessionOrigin::Named, CancelBreadth::Scope(_)) =
        (&request.session, request.origin, request.breadth)
    else {
        return Ok(());
    };
    // The usual case costs one look. Whatever is there instead of a folder is reported later.
    let folder = store.state_path().join("sessions").join(session.as_str());
    if folder.symlink_metadata().is_ok() || context.is_own_session(session) {
        return Ok(());
    }
    // What cannot be read must not keep anybody from a cancel.
    let is_unknown = match known_sessions(store) {
        Ok(known) => !known.contains(session),
        Err(_) => false,
    };
    let scope = Scope::Session(session.clone());
    let has_activity = || match store.read() {
        Ok(Some(state)) => state.activity(&scope) != SessionActivity::default(),
        Ok(None) => false,
        Err(_) => true,
    };
    match is_unknown && !has_activity() && !store.is_marked_cancelled(&scope) {
        true => Err(unknown(&format!("session is called \"{session}\""))),
        false => Ok(()),
    }
}

fn known_sessions(store: &Store) -> Result<BTreeSet<SessionId>, Refusal> {
    let mut known: BTreeSet<SessionId> = match store.read()? {
        Some(state) => state.sessions()?.into_iter().collect(),
        None => BTreeSet::new(),
    };
    known.extend(store.run_ids()?.iter().map(RunId::session));
    Ok(known)
}

fn unknown(what: &str) -> Refusal {
    Refusal::invalid_input(format!(
        "no {what} in this project; the status lists active sessions, and the list of runs has \
         every run"
    ))
}

/// Where a cancel looked.
pub(super) enum Checked<'a> {
    /// One scope.
    Scope(&'a Scope),
    /// Every session and the compatibility scope.
    Everywhere,
}

/// The lines for a cancel that found nothing active; they name what was checked.
pub(super) fn nothing_lines(
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
    if let Checked::Scope(Scope::Session(own)) = checked {
        lines.extend(active_elsewhere(store, own));
    }
    lines
}

/// Names what is active in other sessions: somebody who cancels expects that to stop.
fn active_elsewhere(store: &Store, own: &SessionId) -> Option<String> {
    let others = format_others(store, own)?;
    Some(format!(
        "Active in other sessions: {others}. Name one by its session id, or cancel every session."
    ))
}

/// Names the sessions that a cancel of the only active one leaves waiting for the person.
pub(super) fn waiting_elsewhere(store: &Store, own: &SessionId) -> Option<String> {
    let others = format_others(store, own)?;
    Some(format!(
        "Still waiting for you in other sessions: {others}. Cancel again to cancel that too."
    ))
}

/// The other sessions with open modes, in one line. `None` if there are none.
fn format_others(store: &Store, own: &SessionId) -> Option<String> {
    let mut sessions = active_sessions(store).ok()?;
    sessions.remove(own);
    (!sessions.is_empty()).then(|| format_sessions(&sessions))
}

/// A hint that something is also active outside any session.
pub(super) fn left_over(state: &StateDir) -> Option<String> {
    let read = state.scope(&Scope::Compatibility).ok()?;
    let modes: Vec<&str> = read.snapshot.active_modes().map(Mode::name).collect();
    (!modes.is_empty()).then(|| {
        format!(
            "Still active outside any session: {}. Cancel again to cancel that too.",
            modes.join(", ")
        )
    })
}

/// The sessions to choose from if a cancel is ambiguous.
pub fn sessions_to_choose_from(
    context: &Context<'_>,
    target: CancelTarget,
) -> Result<Vec<(SessionId, OpenModes)>, Refusal> {
    let open = active_sessions(&context.store()?)?;
    Ok(meant_sessions(open, target).into_iter().collect())
}

/// Sessions with modes that are active or wait for the person, and live runs: a run that
/// has only just started has no document yet.
pub(crate) fn active_sessions(store: &Store) -> Result<BTreeMap<SessionId, OpenModes>, StoreError> {
    let mut sessions = live_sessions(store);
    let Some(state) = store.read()? else { return Ok(sessions) };
    for (session, mut modes) in state.open_sessions()? {
        // A process works on this one, whatever its document says.
        if sessions.contains_key(&session) {
            modes.active.append(&mut modes.waiting);
        }
        sessions.insert(session, modes);
    }
    Ok(sessions)
}

fn live_sessions(store: &Store) -> BTreeMap<SessionId, OpenModes> {
    let runs = live_runs(store).unwrap_or_default();
    let mode = |id: &RunId| RunSpec::load(&store.run(id).ok()??).ok().map(|spec| spec.mode);
    // A run whose spec cannot be read still has to be named.
    let modes = |id: &RunId| OpenModes {
        active: vec![mode(id).unwrap_or(Mode::Autopilot)],
        waiting: Vec::new(),
    };
    runs.iter().map(|id| (id.session(), modes(id))).collect()
}

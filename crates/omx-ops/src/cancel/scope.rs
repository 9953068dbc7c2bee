//! Chooses the scope of a cancel that names none, and words the report if nothing is active there.

use std::collections::{BTreeMap, BTreeSet};

use omx_kernel::cancel::{CancelTarget, ScopeChoice, choose_scope};
use omx_kernel::{Mode, Refusal, RefusalCode, RunId, Scope, SessionId, message};
use omx_runs::RunSpec;
use omx_runs::stop::live_runs;
use omx_store::{StateDir, Store, StoreError};

use super::report::CancelReport;
use super::request::CancelRequest;
use crate::context::Context;

/// Returns the scope of a cancel that names no session.
pub(super) fn only_scope(store: &Store, report: &mut CancelReport) -> Result<Scope, Refusal> {
    let active = active_sessions(store).unwrap_or_else(|error| {
        // Live runs can still be chosen.
        report.report_unopened(&[error]);
        live_sessions(store)
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
                    "modes are active in several sessions: {}; name one by its session id, or \
                     cancel every session",
                    list.join("; ")
                ),
            ))
        }
    }
}

/// Finds the session that the request names by an id or a unique prefix of one. Returns
/// the request for that session; `None` if it names none this way.
pub(super) fn select_session(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
) -> Result<Option<CancelRequest>, Refusal> {
    let Some(prefix) = &request.id_prefix else { return Ok(None) };
    let mut known: BTreeSet<SessionId> = match store.read()? {
        Some(state) => state.sessions()?.into_iter().collect(),
        None => BTreeSet::new(),
    };
    known.extend(store.run_ids()?.iter().map(RunId::session));
    let matching = || known.iter().filter(|id| id.as_str().starts_with(prefix.as_str()));
    let exact = known.iter().find(|id| id.as_str() == prefix);
    let session = match (exact, matching().next(), matching().nth(1)) {
        (Some(id), _, _) | (None, Some(id), None) => id.clone(),
        (None, None, _) => {
            return Err(Refusal::invalid_input(format!(
                "no run, session or mode is called {prefix:?}; {0} status lists active sessions, \
                 {0} runs lists runs",
                context.dialect.name
            )));
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
    let sessions = active_sessions(store).ok()?;
    let others = sessions.iter().filter(|(session, _)| *session != own);
    let list: Vec<String> = others
        .map(|(session, modes)| {
            let modes: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
            format!("{session} ({})", modes.join(", "))
        })
        .collect();
    (!list.is_empty()).then(|| {
        format!(
            "Active in other sessions: {}. Name one by its session id, or cancel every session.",
            list.join("; ")
        )
    })
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
pub fn sessions_with_active_modes(
    context: &Context<'_>,
) -> Result<Vec<(SessionId, Vec<Mode>)>, Refusal> {
    Ok(active_sessions(&context.store()?)?.into_iter().collect())
}

/// Sessions with active modes, and live runs: a run that has only just started has no
/// document yet.
fn active_sessions(store: &Store) -> Result<BTreeMap<SessionId, Vec<Mode>>, StoreError> {
    let Some(state) = store.read()? else { return Ok(live_sessions(store)) };
    let mut sessions = live_sessions(store);
    sessions.extend(state.active_sessions()?.into_iter().filter(|(_, modes)| !modes.is_empty()));
    Ok(sessions)
}

fn live_sessions(store: &Store) -> BTreeMap<SessionId, Vec<Mode>> {
    let runs = live_runs(store).unwrap_or_default();
    let mode = |id: &RunId| RunSpec::load(&store.run(id).ok()??).ok().map(|spec| spec.mode);
    // A run whose spec cannot be read still has to be named.
    runs.iter().map(|id| (id.session(), vec![mode(id).unwrap_or(Mode::Autopilot)])).collect()
}

//! Finds the run that a request means.

use omx_kernel::{Mode, Refusal, RunId, Scope, SessionId, Timestamp};
use omx_runs::overview::overview;
use omx_store::Store;
use omx_store::runs::RunFolder;

use super::ownership::is_own;
use crate::context::Context;

/// Finds the run whose id starts with `start`, or else the latest run.
pub fn find_run(store: &Store, start: Option<&str>) -> Result<RunId, Refusal> {
    let runs = store.run_ids()?;
    let start = start.unwrap_or_default();
    let mut matching = runs.iter().filter(|run| run.as_str().starts_with(start));
    match (matching.next_back(), start.is_empty()) {
        (None, true) => Err(Refusal::invalid_input("no runs in this project")),
        (None, false) => Err(Refusal::invalid_input(format!(
            "no run has an id that starts with {start}; list the runs to see their ids"
        ))),
        (Some(run), false) if matching.next().is_some() => Err(Refusal::invalid_input(format!(
            "the id prefix {start} is ambiguous, {} is one of several matches; use a longer prefix",
            run
        ))),
        (Some(run), _) => Ok(run.clone()),
    }
}

/// Finds the run to resume: the one whose id starts with `start`, or the latest
/// unfinished run of this mode that is the person's.
pub fn find_resumable(
    context: &Context<'_>,
    store: &Store,
    mode: Mode,
    start: &str,
) -> Result<RunId, Refusal> {
    if !start.is_empty() {
        return find_run(store, Some(start));
    }
    let none = || Refusal::invalid_input(format!("no unfinished {} run to resume", mode.name()));
    latest_resumable(context, store, Some(mode))?.ok_or_else(none)
}

/// Finds the run to resume: the one that `what` names by its id, a prefix of it or its
/// mode, or else the latest unfinished one that is the person's. If there is none, the
/// refusal names what can be resumed inside a conversation.
pub fn find_unfinished(
    context: &Context<'_>,
    store: &Store,
    what: Option<&str>,
) -> Result<RunId, Refusal> {
    let what = what.filter(|what| !what.is_empty());
    let mode = what.and_then(|what| Mode::parse(what).ok());
    if what.is_none() || mode.is_some() {
        if let Some(id) = latest_resumable(context, store, mode)? {
            return Ok(id);
        }
        if let Some(refusal) = refuse_conversation(context, store, what) {
            return Err(refusal);
        }
        return match mode {
            Some(mode) => find_resumable(context, store, mode, ""),
            None => find_run(store, None),
        };
    }
    find_run(store, what)
        .map_err(|refusal| refuse_conversation(context, store, what).unwrap_or(refusal))
}

fn latest_resumable(
    context: &Context<'_>,
    store: &Store,
    mode: Option<Mode>,
) -> Result<Option<RunId>, Refusal> {
    for id in store.run_ids()?.into_iter().rev() {
        // A run that cannot be read is not the one to resume, and hides no other.
        let Ok(Some(folder)) = store.run(&id) else { continue };
        if !is_own(context, &folder).unwrap_or_default() {
            continue;
        }
        let Ok(seen) = overview(store, &folder) else { continue };
        if mode.is_none_or(|mode| seen.spec.mode == mode) && seen.state.is_resumable() {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Names the latest mode of a conversation that can be resumed, where `what` names the
/// session, the mode or nothing: only the conversation's own agent can go on with it.
fn refuse_conversation(
    context: &Context<'_>,
    store: &Store,
    what: Option<&str>,
) -> Option<Refusal> {
    let mut found: Option<(Option<Timestamp>, Mode, SessionId)> = None;
    let state = store.read().ok()??;
    let runs = store.run_ids().unwrap_or_default();
    let visited = state.for_each_session(|read| {
        let Scope::Session(session) = read.snapshot.scope else { return };
        let is_run = runs.iter().any(|run| run.as_str() == session.as_str());
        for (mode, document) in &read.snapshot.documents {
            let is_meant =
                what.is_none_or(|what| mode.name() == what || session.as_str().starts_with(what));
            let time = document.get_time("updated_at");
            let is_later = found.as_ref().is_none_or(|(known, ..)| *known <= time);
            if !is_run && is_meant && is_later && document.can_resume(*mode) {
                found = Some((time, *mode, session.clone()));
            }
        }
    });
    visited.ok()?;
    let (_, mode, session) = found?;
    let call = format!("/{}", mode.name());
    Some(Refusal::invalid_input(format!(
        "{} of session {session} is resumed in a conversation with its agent: type {} there",
        mode.name(),
        context.dialect.localize(&call)
    )))
}

/// Opens the folder of a run.
pub(super) fn open_folder(store: &Store, id: &RunId) -> Result<RunFolder, Refusal> {
    store.run(id)?.ok_or_else(|| Refusal::invalid_input(format!("run {id} is gone")))
}

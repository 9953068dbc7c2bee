//! Ends the processes of cancelled runs. Documents end first, so that nothing restarts
//! even if ending a process fails; a mark stands in for documents that cannot be written.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Mode, Refusal, RefusalCode, RunId, Scope};
use omx_runs::RunSpec;
use omx_runs::overview::overview;
use omx_runs::stop::{self, RunTermination};
use omx_store::Store;
use omx_store::runs::{RegisteredRun, RunRegistry};

use super::report::{CancelReport, UnrecordedCancel};
use super::request::{CancelBreadth, CancelRequest, RunProcesses};
use crate::context::Context;

/// How long the processes of all runs together have to exit before they are killed.
const PATIENCE: Duration = Duration::from_secs(7);

/// Marks what could not be recorded, and terminates the processes of the runs that the
/// request means: those of one scope, or all. A process never terminates itself: a run
/// that cancels its own leftovers is about to exit anyway.
pub(super) fn end_runs(
    context: &Context<'_>,
    store: &Store,
    request: &CancelRequest,
    one: Option<(&Scope, CancelTarget)>,
    report: &mut CancelReport,
) {
    let runs = cancelled_runs(store, request, one, report);
    if !matches!(one, Some((_, CancelTarget::Mode(_)))) {
        for unrecorded in report.unrecorded.iter_mut().filter(|it| !is_foreign(it)) {
            unrecorded.mark = store.mark_cancelled(&unrecorded.scope).ok();
        }
    }
    for id in runs.iter().filter(|id| stop::is_driven(store, id)) {
        record(store, id, report);
    }
    if request.runs == RunProcesses::Leave {
        return;
    }
    // All of them at once, because each may take a while to exit.
    for id in &runs {
        stop::request_exit(store, id);
    }
    let deadline = Instant::now() + PATIENCE;
    for (run, refusal) in unreachable_runs(context, store, one) {
        let scope = Scope::Session(run.run.session());
        if !report.unrecorded.iter().any(|unrecorded| unrecorded.scope == scope) {
            let mark = store.mark_cancelled(&scope).ok();
            report.unrecorded.push(UnrecordedCancel { scope, refusal, mark });
        }
        let termination = stop::terminate_unreachable(&run, deadline);
        report.runs.push((run.run, termination));
    }
    for id in runs {
        match stop::terminate(store, &id, deadline) {
            Ok(RunTermination::NotRunning) => {}
            Ok(termination) => report.runs.push((id, termination)),
            Err(refusal) => report.fail(Scope::Session(id.session()), refusal),
        }
    }
    drop_completed(store, report);
}

/// Whether nothing is known to be active: what lies in the place of the documents outside
/// sessions is not omx's.
fn is_foreign(unrecorded: &UnrecordedCancel) -> bool {
    unrecorded.scope == Scope::Compatibility && unrecorded.refusal.code == RefusalCode::UnsafePath
}

/// The runs that a cancel means.
fn cancelled_runs(
    store: &Store,
    request: &CancelRequest,
    one: Option<(&Scope, CancelTarget)>,
    report: &CancelReport,
) -> BTreeSet<RunId> {
    let cancelled = report.cancelled.iter().filter_map(|(scope, _)| run_of(scope));
    let mut runs: BTreeSet<RunId> = cancelled.collect();
    match one {
        // Runs that cannot be listed are at least not hidden by the others.
        None => runs.extend(stop::live_runs(store).unwrap_or_default()),
        Some((scope, target)) => {
            let is_meant = |id: &RunId| match target {
                CancelTarget::Everything => true,
                CancelTarget::Mode(mode) => mode_of(store, id) == Some(mode),
            };
            let finishes = request.breadth == CancelBreadth::Finish;
            runs.extend(run_of(scope).filter(|id| finishes || is_meant(id)));
        }
    }
    runs
}

/// The live runs that a cancel means and whose folders cannot be opened, with the reason.
/// Only the registry still says who drives them.
fn unreachable_runs(
    context: &Context<'_>,
    store: &Store,
    one: Option<(&Scope, CancelTarget)>,
) -> Vec<(RegisteredRun, Refusal)> {
    let failure = match one {
        None => store.runs().err(),
        Some((Scope::Compatibility, _)) => store.read().err(),
        Some((scope, _)) => run_of(scope).and_then(|id| store.run(&id).err()),
    };
    let registry = context.runs.registry_folder(context.dialect).map(RunRegistry::new);
    let (Some(failure), Some(registry)) = (failure, registry) else { return Vec::new() };
    let refusal = Refusal::from(failure);
    let is_meant = |run: &RegisteredRun| match one {
        None => true,
        Some((scope, target)) => {
            let is_mode = match target {
                CancelTarget::Everything => true,
                CancelTarget::Mode(mode) => run.mode.raw() == mode.name(),
            };
            is_mode && run_of(scope).is_none_or(|id| id == run.run)
        }
    };
    let runs = registry.unreadable().unwrap_or_default().into_iter();
    let runs = runs.filter(|run| run.tree == store.tree() && is_meant(run));
    runs.map(|run| (run, refusal.clone())).collect()
}

/// Makes sure that a live run learns of its cancel: from its own document, or else from
/// a mark.
fn record(store: &Store, id: &RunId, report: &mut CancelReport) {
    let scope = Scope::Session(id.session());
    let mode = mode_of(store, id);
    let is_cancelled = report
        .cancelled
        .iter()
        .any(|(known, entry)| *known == scope && mode.is_none_or(|mode| entry.mode == mode));
    let known = report.unrecorded.iter_mut().find(|unrecorded| unrecorded.scope == scope);
    match known {
        _ if is_cancelled => {}
        Some(known) => {
            if known.mark.is_none() {
                known.mark = store.mark_cancelled(&scope).ok();
            }
        }
        None => match (store.mark_cancelled(&scope), unreadable(store, &scope, mode)) {
            (Ok(_), None) => report.starting.push((id.clone(), mode)),
            (mark, Some(refusal)) => {
                report.unrecorded.push(UnrecordedCancel { scope, refusal, mark: mark.ok() });
            }
            (Err(error), None) => report.fail(scope, error.into()),
        },
    }
}

/// Why the run's own document cannot say that the run is cancelled.
fn unreadable(store: &Store, scope: &Scope, mode: Option<Mode>) -> Option<Refusal> {
    let state = match store.read() {
        Ok(state) => state?,
        Err(error) => return Some(error.into()),
    };
    match state.scope(scope) {
        Ok(read) => read.refusal(mode?),
        Err(error) => Some(error.into()),
    }
}

/// A run that completed before the cancel reached it was not cancelled.
fn drop_completed(store: &Store, report: &mut CancelReport) {
    let is_complete = |id: &RunId| {
        let folder = store.run(id).ok().flatten();
        folder.is_some_and(|folder| {
            overview(store, &folder).is_ok_and(|seen| seen.state == "complete")
        })
    };
    report.starting.retain(|(id, _)| {
        let is_complete = is_complete(id);
        if is_complete {
            let _ = store.clear_cancel_mark(&Scope::Session(id.session()));
        }
        !is_complete
    });
}

fn mode_of(store: &Store, id: &RunId) -> Option<Mode> {
    let folder = store.run(id).ok()??;
    RunSpec::load(&folder).ok().map(|spec| spec.mode)
}

fn run_of(scope: &Scope) -> Option<RunId> {
    RunId::new(scope.session()?.as_str()).ok()
}

//! Ends the processes of cancelled runs. Documents end first, so that nothing restarts
//! even if ending a process fails; a mark stands in for documents that cannot be written.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use omx_kernel::cancel::CancelTarget;
use omx_kernel::{Mode, Refusal, RefusalCode, RunId, RunState, Scope};
use omx_runs::overview::overview;
use omx_runs::stop::{self, DrivenRun, RunTermination};
use omx_runs::{RunSpec, Workspace};
use omx_store::Store;
use omx_store::runs::RunRegistry;

use super::documents::every_scope;
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
        if request.runs == RunProcesses::Leave {
            report.left_running.push(id.clone());
        }
    }
    if request.runs == RunProcesses::Leave {
        return;
    }
    let locked = match one {
        None => stop::locked_runs(store),
        Some((scope, _)) => run_of(scope).into_iter().collect(),
    };
    report.lines.extend(locked.iter().filter_map(|id| stop::describe_stranger(store, id)));
    // All of them at once, because each may take a while to exit.
    for id in &runs {
        stop::request_exit(store, id);
    }
    let deadline = Instant::now() + PATIENCE;
    for id in runs {
        match stop::terminate(store, &id, deadline) {
            Ok(RunTermination::NotRunning) => {}
            Ok(termination) => report.runs.push((id, termination)),
            Err(refusal) => report.fail(Scope::Session(id.session()), refusal),
        }
    }
    let is_doubtful = report.is_empty() || !report.unrecorded.is_empty();
    if is_doubtful || one.is_none() && has_closed_parts(store) {
        end_unreachable(context, store, one, report);
    }
    drop_completed(store, report);
}

/// Names what a forced cancel leaves of the runs it ended: their journals and worktrees.
pub(super) fn name_remains(context: &Context<'_>, store: &Store, report: &mut CancelReport) {
    let cancelled = report.cancelled.iter().filter_map(|(scope, _)| run_of(scope));
    let mut runs: BTreeSet<RunId> = cancelled.collect();
    runs.extend(report.runs.iter().map(|(id, _)| id.clone()));
    runs.extend(report.starting.iter().map(|(id, _)| id.clone()));
    runs.extend(report.left_running.iter().cloned());
    for id in runs {
        let Ok(Some(folder)) = store.run(&id) else { continue };
        let relative = |path: &Path| path.strip_prefix(store.root()).unwrap_or(path).to_owned();
        let worktree = match RunSpec::load(&folder).map(|spec| spec.workspace) {
            Ok(Workspace::Worktree { path, .. }) if path.is_dir() => {
                format!(", worktree {}", relative(&path).display())
            }
            _ => String::new(),
        };
        report.lines.push(format!(
            "Run {id} is still there: journal {}{worktree}; see {} runs.",
            relative(folder.path()).display(),
            context.dialect.name
        ));
    }
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

/// Whether something of the project cannot be opened, so that a live run may be hidden.
fn has_closed_parts(store: &Store) -> bool {
    let has_closed_sessions = match store.read() {
        Ok(Some(state)) => !every_scope(&state).1.is_empty(),
        Ok(None) => false,
        Err(_) => true,
    };
    has_closed_sessions || store.runs().is_err()
}

/// Ends the live runs that a cancel means and whose files do not say that they live.
fn end_unreachable(
    context: &Context<'_>,
    store: &Store,
    one: Option<(&Scope, CancelTarget)>,
    report: &mut CancelReport,
) {
    let is_meant = |run: &DrivenRun| match one {
        None | Some((Scope::Compatibility, CancelTarget::Everything)) => true,
        Some((scope, target)) => {
            let is_mode = match target {
                CancelTarget::Everything => true,
                CancelTarget::Mode(mode) => run.mode.as_deref() == Some(mode.name()),
            };
            is_mode && run_of(scope).is_some_and(|id| id == run.id)
        }
    };
    let registry = context.runs.registry_folder(context.dialect).map(RunRegistry::new);
    let found = stop::find_driven(store, registry.as_ref());
    let is_ended =
        |run: &DrivenRun, report: &CancelReport| report.runs.iter().any(|(id, _)| *id == run.id);
    let deadline = Instant::now() + PATIENCE;
    for run in found.iter().filter(|run| is_meant(run)) {
        if is_ended(run, report) {
            continue;
        }
        let scope = Scope::Session(run.id.session());
        if !report.unrecorded.iter().any(|unrecorded| unrecorded.scope == scope) {
            let why = format!("the files of run {} cannot be read", run.id);
            let refusal = Refusal::new(RefusalCode::Io, why);
            let mark = store.mark_cancelled(&scope).ok();
            report.unrecorded.push(UnrecordedCancel { scope, refusal, mark });
        }
        let termination = stop::terminate_driven(store, run, deadline);
        report.runs.push((run.id.clone(), termination));
    }
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
            overview(store, &folder).is_ok_and(|seen| seen.state == RunState::COMPLETE)
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

/// The run whose session a scope may be.
pub(super) fn run_of(scope: &Scope) -> Option<RunId> {
    RunId::new(scope.session()?.as_str()).ok()
}

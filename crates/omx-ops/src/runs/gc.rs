//! Removes the leftovers of old runs, on request and once a day.

use std::collections::BTreeSet;
use std::path::PathBuf;

use omx_kernel::{GuardedAct, Refusal, RefusalCode, Value};
use omx_runs::find_orphans;
use omx_runs::retention::{RetentionReport, collect_garbage};
use omx_store::Store;
use serde_json::json;

use super::ownership::{forget, registry};
use crate::config::{self, span_seconds};
use crate::context::Context;
use crate::report;

const DAY_MS: i64 = 86_400_000;

/// What was removed, and what was kept.
#[derive(Debug)]
pub struct GcReport(pub RetentionReport);

impl GcReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let ids = |ids: &[omx_kernel::RunId]| -> Vec<String> {
            ids.iter().map(|id| id.as_str().to_owned()).collect()
        };
        let kept = self.0.kept.iter();
        let kept =
            kept.map(|kept| json!({"id": kept.id.as_str(), "path": kept.path, "why": kept.why}));
        let unreadable = self.0.unreadable.iter();
        let unreadable = unreadable.map(|run| json!({"id": run.id, "reason": run.why.raw()}));
        report::from_json(&json!({
            "removed": ids(&self.0.runs),
            "worktrees": ids(&self.0.worktrees),
            "kept": kept.collect::<Vec<_>>(),
            "sessions": self.0.sessions,
            "unreadable": unreadable.collect::<Vec<_>>(),
        }))
    }
}

/// Returns the runs of which only a worktree or a branch is left: their start was killed.
pub fn lost_runs(
    context: &Context<'_>,
    store: &Store,
) -> Result<BTreeSet<omx_kernel::RunId>, Refusal> {
    let environment = context.git_environment(store);
    find_orphans(&context.project_env(store, &environment))
}

/// Removes merged worktrees and runs that ended long ago.
pub fn run_gc(context: &Context<'_>, project: Option<PathBuf>) -> Result<GcReport, Refusal> {
    context.check_act(GuardedAct::OfPerson("remove runs"))?;
    let store = context.store_for(project.as_deref())?;
    collect(context, &store).map(GcReport)
}

/// Does the same unless it was done within a day. A failure becomes a warning: it
/// must not keep a run from starting.
pub(super) fn collect_daily(context: &Context<'_>, store: &Store) -> Option<String> {
    let is_due = || -> Result<bool, Refusal> {
        let last = store.last_run_cleanup()?;
        Ok(last.is_none_or(|last| context.now().millis_since(last) > DAY_MS))
    };
    let collected = is_due().and_then(|is_due| match is_due {
        true => collect(context, store).map(drop),
        false => Ok(()),
    });
    let refusal = collected.err()?;
    Some(format!("cannot remove old runs: {}", refusal.message))
}

fn collect(context: &Context<'_>, store: &Store) -> Result<RetentionReport, Refusal> {
    // Record the cleanup first, so that a failing one is not retried at every start.
    context.lock(store, "runs gc")?.record_run_cleanup(context.now())?;
    let config = config::load(context, store)?;
    let retention = config.get("retention").and_then(|setting| setting.value.as_str());
    let kept_ms = retention
        .and_then(span_seconds)
        .and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1000))
        .ok_or_else(|| {
            Refusal::new(RefusalCode::InvalidInput, "retention is not a span of time")
        })?;
    let environment = context.git_environment(store);
    let env = context.project_env(store, &environment);
    let report = collect_garbage(&env, kept_ms, registry(context).as_ref())?;
    forget(context, &report.runs);
    Ok(report)
}

//! Clearing up after runs: when it is asked for, and once a day by itself.

use omx_kernel::Refusal;
use omx_ops::Context;
use omx_ops::config::{self, span_seconds};
use omx_runs::retention::{RetentionReport, collect_garbage};
use omx_store::Store;
use serde_json::json;

use crate::edge;
use crate::exit::Exit;
use crate::output::{self, Format};
use crate::text::printable;

const DAY_MS: i64 = 86_400_000;
/// How many days ended runs are kept, unless it is configured.
const KEPT_DAYS: i64 = 30;

pub(super) fn gc(context: &Context<'_>, store: &Store, format: Format) -> Result<Exit, Refusal> {
    let swept = swept(context, store)?;
    if format == Format::Json {
        let kept = swept
            .kept
            .iter()
            .map(|kept| json!({"id": kept.id.as_str(), "path": kept.path, "why": kept.why}));
        let object = json!({
            "removed": swept.runs.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "worktrees": swept.worktrees.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "kept": kept.collect::<Vec<_>>(),
        });
        return Ok(output::text(&format!("{object}\n")));
    }
    let mut lines = vec![match (swept.runs.len(), swept.worktrees.len()) {
        (0, 0) => "Nothing is to be removed.".to_owned(),
        (runs, worktrees) => format!(
            "Removed {}, {}.",
            counted(runs, "old run", "old runs"),
            counted(worktrees, "merged worktree", "merged worktrees")
        ),
    }];
    lines.extend(
        swept
            .kept
            .iter()
            .map(|kept| format!("kept: {} ({})", kept.path.display(), printable(&kept.why))),
    );
    Ok(output::lines(&lines))
}

/// Clears up if that was not done for a day. What goes wrong with it is told,
/// and stops nobody.
pub fn sweep_daily(context: &Context<'_>, store: &Store) {
    let due = || -> Result<bool, Refusal> {
        let last = store.last_run_cleanup()?;
        let now = context.clock.now();
        Ok(last.is_none_or(|last| now.millis_since(last) > DAY_MS))
    };
    if let Err(refusal) =
        due().and_then(|due| if due { swept(context, store).map(drop) } else { Ok(()) })
    {
        output::note(&format!("warning: old runs are not cleared: {}", refusal.message));
    }
}

fn swept(context: &Context<'_>, store: &Store) -> Result<RetentionReport, Refusal> {
    // Noted first: one that goes wrong is not tried at every start.
    store.lock(context.lock_deadline, "runs gc")?.record_run_cleanup(context.clock.now())?;
    let config = config::load(context, store)?;
    let kept = config.get("retention").and_then(|setting| setting.value.as_str());
    let kept = kept.and_then(span_seconds).and_then(|seconds| i64::try_from(seconds).ok());
    let kept = kept.map_or(KEPT_DAYS * DAY_MS, |seconds| seconds.saturating_mul(1000));
    collect_garbage(&context.project_env(store, &edge::environment()), kept)
}

fn counted(count: usize, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

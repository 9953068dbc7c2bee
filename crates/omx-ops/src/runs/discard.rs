//! Discards a run: its worktree, branch, documents and folder.

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::retention::{DiscardScope, DiscardedRun, discard};
use serde_json::json;

use super::ownership::forget;
use super::select::RunSelector;
use crate::context::Context;
use crate::report;

/// A request to discard a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDiscardRequest {
    /// The run; it must be named.
    pub run: RunSelector,
    /// Whether the discard may lose work that exists nowhere else.
    pub scope: DiscardScope,
}

/// What was removed.
#[derive(Debug)]
pub struct RunDiscardReport {
    /// The run.
    pub id: RunId,
    /// What was removed.
    pub removed: DiscardedRun,
}

impl RunDiscardReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let removed = &self.removed;
        report::from_json(&json!({
            "id": self.id.as_str(),
            "worktree": removed.worktree,
            "branch": removed.branch,
            "commit": removed.commit.as_ref().map(|commit| commit.as_str()),
            "folder": removed.folder,
        }))
    }
}

/// Discards a run that no process drives.
pub fn run_discard(
    context: &Context<'_>,
    request: &RunDiscardRequest,
) -> Result<RunDiscardReport, Refusal> {
    if request.run.id.as_deref().unwrap_or_default().is_empty() {
        return Err(Refusal::invalid_input("name the run to discard"));
    }
    let (store, id) = request.run.find_for_person(context, "discard")?;
    let environment = context.git_environment(&store);
    let env = context.project_env(&store, &environment);
    context.caller.before_wait();
    let removed = discard(&env, &id, request.scope)?;
    forget(context, [&id]);
    Ok(RunDiscardReport { id, removed })
}

//! Merges a run's branch into the branch the person has checked out.

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::git::Integration;
use omx_runs::{RunRepository, RunSpec, Workspace, workspace};
use serde_json::json;

use super::select::{RunSelector, acquire};
use crate::context::Context;
use crate::report;

/// What was merged.
#[derive(Debug)]
pub struct RunIntegrateReport {
    /// The run.
    pub id: RunId,
    /// Its branch.
    pub branch: String,
    /// The merge.
    pub merge: Integration,
}

impl RunIntegrateReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let merge = &self.merge;
        report::from_json(&json!({
            "id": self.id.as_str(), "branch": self.branch, "into": merge.into,
            "before": merge.before.as_str(), "after": merge.after.as_str(),
        }))
    }
}

/// Merges the branch of a run that no process drives.
pub fn run_integrate(
    context: &Context<'_>,
    run: &RunSelector,
) -> Result<RunIntegrateReport, Refusal> {
    let (store, id) = run.find_for_person(context, "merge")?;
    // Hold the run's lock so that nothing is added to its branch meanwhile.
    let held = acquire(&store, &id, "merge it when it has stopped")?;
    let spec = RunSpec::load(held.folder())?;
    let Workspace::Worktree { branch, .. } = &spec.workspace else {
        return Err(Refusal::invalid_input(format!(
            "run {id} worked in place; there is nothing to merge"
        )));
    };
    let environment = context.runs.environment();
    let env = context.project_env(&store, &environment);
    context.caller.before_wait();
    if let Some(repository) = RunRepository::open(&env, &id, held.folder(), &spec.workspace)? {
        repository.check_unchanged().map_err(workspace::refusal)?;
    }
    let merge = workspace::integrate(&env, &id, held.folder().scratch()?)?;
    Ok(RunIntegrateReport { id, branch: branch.clone(), merge })
}

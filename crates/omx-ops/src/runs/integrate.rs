//! Merges a run's branch into the branch the person has checked out.

use std::path::PathBuf;

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::git::Integration;
use omx_runs::{Record, RunRepository, RunSpec, Workspace, workspace};
use serde_json::json;

use super::select::{RunSelector, acquire};
use crate::context::Context;
use crate::report;

/// A request to merge a run's branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunIntegrateRequest {
    /// The run.
    pub run: RunSelector,
    /// What happens if its last check failed.
    pub failed_check: FailedCheckPolicy,
}

/// Whether work whose check failed may be merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedCheckPolicy {
    /// It is refused.
    #[default]
    Refuse,
    /// It is merged, because the person says so.
    Merge,
}

/// What was merged.
#[derive(Debug)]
pub struct RunIntegrateReport {
    /// The run.
    pub id: RunId,
    /// Its branch.
    pub branch: String,
    /// The merge.
    pub merge: Integration,
    /// Files of the workspace that are not committed, and so not merged.
    pub uncommitted: Vec<PathBuf>,
}

impl RunIntegrateReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let merge = &self.merge;
        report::from_json(&json!({
            "id": self.id.as_str(), "branch": self.branch, "into": merge.into,
            "before": merge.before.as_str(), "after": merge.after.as_str(),
            "uncommitted": self.uncommitted,
        }))
    }
}

/// Merges the branch of a run that no process drives.
pub fn run_integrate(
    context: &Context<'_>,
    request: &RunIntegrateRequest,
) -> Result<RunIntegrateReport, Refusal> {
    let (store, id) = request.run.find_for_person(context, "merge")?;
    // Hold the run's lock so that nothing is added to its branch meanwhile.
    let held = acquire(&store, &id, "merge it when it has stopped")?;
    let spec = RunSpec::load(held.folder())?;
    let Workspace::Worktree { branch, .. } = &spec.workspace else {
        return Err(Refusal::invalid_input(format!(
            "run {id} worked in place; there is nothing to merge"
        )));
    };
    if let (FailedCheckPolicy::Refuse, Some(check)) =
        (request.failed_check, failed_check(held.entries()?.iter().map(|entry| &entry.record)))
    {
        let program = context.dialect.name;
        return Err(Refusal::invalid_input(format!(
            "the last check of run {id} failed: {check:?}; to merge it all the same: {program} runs \
             integrate {id} --anyway"
        )));
    }
    let environment = context.git_environment(&store);
    let env = context.project_env(&store, &environment);
    context.caller.before_wait();
    let mut uncommitted = Vec::new();
    if let Some(repository) = RunRepository::open(&env, &id, held.folder(), &spec.workspace)? {
        repository.check_unchanged().map_err(workspace::refusal)?;
        uncommitted = repository.uncommitted().map_err(workspace::refusal)?;
    }
    let merge = workspace::integrate(&env, &id, held.folder().scratch()?)?;
    Ok(RunIntegrateReport { id, branch: branch.clone(), merge, uncommitted })
}

/// The command of the last check, if it failed.
fn failed_check<'a>(records: impl Iterator<Item = &'a Record>) -> Option<String> {
    let checks = records.filter_map(|record| match record {
        Record::StepFinished { result, .. } => {
            let command = result.get("command")?.as_str()?;
            Some((command, result.get("exit_code")?.as_i64()))
        }
        _ => None,
    });
    let (command, code) = checks.last()?;
    (code != Some(0)).then(|| command.to_owned())
}

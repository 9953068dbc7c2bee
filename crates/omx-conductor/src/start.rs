//! Starting a run, and resuming one.

use std::collections::BTreeMap;

use omx_kernel::ids::slug;
use omx_kernel::{Mode, Refusal, RefusalCode, RunId, SessionId};
use omx_ops::Context;
use omx_runs::{Budget, PipelineStage, Record, RunSpec, VerificationLevel, Workspace, workspace};
use omx_store::runs::{HeldRun, LockHolder, RunAcquisition};
use omx_store::{ArtifactFolder, Store};

use crate::engine::{Engine, StepDecision};
use crate::workflow::WorkflowContext;

/// What a person wants done, before the run has an id and a workspace.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// The mode.
    pub mode: Mode,
    /// The task, in the person's words.
    pub task: String,
    /// The agent, by name.
    pub agent: String,
    /// The model for every role.
    pub model: Option<String>,
    /// What agents may do without asking.
    pub allow: String,
    /// The project's check.
    pub check: Option<String>,
    /// The verification level.
    pub verification: VerificationLevel,
    /// The most iterations.
    pub max_iterations: Option<u64>,
    /// What the run may use.
    pub budget: Budget,
    /// The stages of a pipeline.
    pub stages: Vec<PipelineStage>,
    /// The rehearsal agent's scenario.
    pub scenario: Option<std::path::PathBuf>,
}

/// A run that this process holds.
#[derive(Debug)]
pub struct OpenedRun {
    /// What the run was asked to do.
    pub spec: RunSpec,
    /// Its folder and lock.
    pub held: HeldRun,
    /// Its engine.
    pub engine: Engine,
    /// What opening the run adds to its journal.
    pub changes: Vec<Record>,
}

/// Starts a run in this workspace.
pub fn begin(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    request: RunRequest,
    workspace: Workspace,
) -> Result<OpenedRun, Refusal> {
    let now = context.clock.now();
    let spec = RunSpec {
        mode: request.mode,
        slug: slug(&request.task),
        task: request.task,
        started_at: now.to_string(),
        agent: request.agent,
        model: request.model,
        allow: request.allow,
        check: request.check,
        verification: request.verification,
        max_iterations: request.max_iterations,
        budget: request.budget,
        workspace,
        stages: request.stages,
        scenario: request.scenario,
    };
    let (engine, changes) = open_engine(context, store, &spec, id, &[], &BTreeMap::new())?;
    let locked = store.lock(context.lock_deadline, "run")?;
    locked.write_artifact(
        ArtifactFolder::Context,
        &spec.context_name(),
        "md",
        &snapshot(&spec, id),
    )?;
    let held = locked.create_run(id, &spec.stored(), &LockHolder::this_process())?;
    Ok(OpenedRun { spec, held, engine, changes })
}

/// Resumes a run that no process drives.
pub fn resume(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    decisions: &BTreeMap<String, StepDecision>,
) -> Result<OpenedRun, Refusal> {
    let held = match store.acquire_run(id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => held,
        RunAcquisition::HeldBy(holder) => {
            let by = holder.map(|holder| format!(" by process {}", holder.pid));
            let (by, program) = (by.unwrap_or_default(), context.dialect.name);
            return Err(Refusal::new(
                RefusalCode::Busy,
                format!("run {id} is driven{by}; follow it with: {program} runs attach {id}"),
            ));
        }
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("there is no run {id}")));
        }
    };
    let mut spec: RunSpec = RunSpec::load(held.folder())?;
    spec.workspace = workspace::relocate(store, id, spec.workspace);
    let records: Vec<Record> = held.entries()?.into_iter().map(|entry| entry.record).collect();
    let (engine, changes) = open_engine(context, store, &spec, id, &records, decisions)?;
    Ok(OpenedRun { spec, held, engine, changes })
}

fn open_engine(
    context: &Context<'_>,
    store: &Store,
    spec: &RunSpec,
    id: &RunId,
    records: &[Record],
    decisions: &BTreeMap<String, StepDecision>,
) -> Result<(Engine, Vec<Record>), Refusal> {
    let session = SessionId::new(id.as_str())?;
    let context = WorkflowContext::new(session, context.dialect, store.root(), store.tree());
    Engine::open(spec.clone(), context, records, decisions)
}

/// What was known when the run began, for people.
fn snapshot(spec: &RunSpec, id: &RunId) -> String {
    let check = spec.check.as_deref().unwrap_or("none");
    format!(
        "# {}\n\nrun: {id}\nmode: {}\nstarted: {}\nagent: {}\nallowed: {}\ncheck: {check}\n\
         folder: {}\n\n## Task\n\n{}\n",
        spec.slug,
        spec.mode.name(),
        spec.started_at,
        spec.agent,
        spec.allow,
        spec.workspace.folder().display(),
        spec.task.trim(),
    )
}

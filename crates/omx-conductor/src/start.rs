//! Beginning a run, and taking one up again.

use std::collections::BTreeMap;

use omx_kernel::ids::slug;
use omx_kernel::{Mode, Refusal, RefusalCode, RunId, SessionId};
use omx_ops::Context;
use omx_store::runs::{HeldRun, Holder, RunAcquisition};
use omx_store::{ArtifactFolder, Store};

use crate::engine::{Decide, Engine};
use omx_runs::Record;
use omx_runs::spec::{Budget, PipelineStage, RunSpec, VerificationLevel, Workspace};
use omx_runs::workspace;

/// What a person wants done.
#[derive(Clone, Debug)]
pub struct Wish {
    /// The mode.
    pub mode: Mode,
    /// In their words.
    pub task: String,
    /// The agent, by name.
    pub agent: String,
    /// The model for every role.
    pub model: Option<String>,
    /// What agents may do.
    pub allow: String,
    /// The project's check.
    pub check: Option<String>,
    /// How results are verified.
    pub verification: VerificationLevel,
    /// The most iterations.
    pub max_iterations: Option<u64>,
    /// What it may spend.
    pub budget: Budget,
    /// The stages of a pipeline.
    pub stages: Vec<PipelineStage>,
    /// The rehearsal agent's scenario.
    pub scenario: Option<std::path::PathBuf>,
}

/// A run in this process's hands.
#[derive(Debug)]
pub struct Taken {
    /// What was asked.
    pub asked: RunSpec,
    /// Its folder and lock.
    pub held: HeldRun,
    /// Its loop.
    pub engine: Engine,
    /// What taking it up adds to its journal.
    pub changes: Vec<Record>,
}

/// Starts a run in this workspace.
pub fn begin(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    wish: Wish,
    workspace: Workspace,
) -> Result<Taken, Refusal> {
    let now = context.clock.now();
    let asked = RunSpec {
        mode: wish.mode,
        slug: slug(&wish.task),
        task: wish.task,
        started_at: now.to_string(),
        agent: wish.agent,
        model: wish.model,
        allow: wish.allow,
        check: wish.check,
        verification: wish.verification,
        max_iterations: wish.max_iterations,
        budget: wish.budget,
        workspace,
        stages: wish.stages,
        scenario: wish.scenario,
    };
    let (engine, changes) = engine(&asked, id, &[], &BTreeMap::new())?;
    let locked = store.lock(context.lock_deadline, "run")?;
    locked.write_artifact(
        ArtifactFolder::Context,
        &asked.context_name(),
        "md",
        &snapshot(&asked, id),
    )?;
    let held = locked.create_run(id, &asked.stored(), &Holder::this_process())?;
    Ok(Taken { asked, held, engine, changes })
}

/// Takes a run up that nobody drives.
pub fn resume(
    store: &Store,
    id: &RunId,
    decisions: &BTreeMap<String, Decide>,
) -> Result<Taken, Refusal> {
    let held = match store.acquire_run(id, &Holder::this_process())? {
        RunAcquisition::Acquired(held) => held,
        RunAcquisition::HeldBy(holder) => {
            let who =
                holder.map(|holder| format!(" by process {}", holder.pid)).unwrap_or_default();
            return Err(Refusal::new(
                RefusalCode::Busy,
                format!("run {id} is going on, driven{who}; follow it with: omx runs attach {id}"),
            ));
        }
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("there is no run {id}")));
        }
    };
    let mut asked: RunSpec = RunSpec::load(held.folder())?;
    asked.workspace = workspace::relocate(store, id, asked.workspace);
    let records: Vec<Record> = held.entries()?.into_iter().map(|entry| entry.record).collect();
    let (engine, changes) = engine(&asked, id, &records, decisions)?;
    Ok(Taken { asked, held, engine, changes })
}

fn engine(
    asked: &RunSpec,
    id: &RunId,
    records: &[Record],
    decisions: &BTreeMap<String, Decide>,
) -> Result<(Engine, Vec<Record>), Refusal> {
    Engine::take_up(asked.clone(), SessionId::new(id.as_str())?, records, decisions)
}

/// What the run knew when it began, for people.
fn snapshot(asked: &RunSpec, id: &RunId) -> String {
    let check = asked.check.as_deref().unwrap_or("none");
    format!(
        "# {}\n\nrun: {id}\nmode: {}\nstarted: {}\nagent: {}\nallowed: {}\ncheck: {check}\n\
         folder: {}\n\n## Task\n\n{}\n",
        asked.slug,
        asked.mode.name(),
        asked.started_at,
        asked.agent,
        asked.allow,
        asked.workspace.folder().display(),
        asked.task.trim(),
    )
}

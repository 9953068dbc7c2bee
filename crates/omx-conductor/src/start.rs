//! Opens a new run, or resumes one.

use std::collections::BTreeMap;

use omx_kernel::{Refusal, RefusalCode, RunId, Scope, SessionId};
use omx_ops::{Context, NewRun};
use omx_runs::{Record, RunRepository, RunSpec, limits, stop, workspace};
use omx_store::Store;
use omx_store::runs::{HeldRun, LockHolder, RunAcquisition};

use crate::engine::{Engine, StepDecision};
use crate::workflow::WorkflowContext;

/// A run that this process holds.
#[derive(Debug)]
pub struct OpenedRun {
    /// What the run was asked to do, with what the person has changed since.
    pub spec: RunSpec,
    /// Its folder and lock.
    pub held: HeldRun,
    /// Its engine.
    pub engine: Engine,
    /// The records that opening the run adds to its journal.
    pub changes: Vec<Record>,
}

/// Opens a run that was just created.
pub fn open(context: &Context<'_>, store: &Store, run: NewRun) -> Result<OpenedRun, Refusal> {
    let NewRun { spec, held, .. } = run;
    let (engine, changes) = open_engine(context, store, &spec, held.id(), &[], &BTreeMap::new())?;
    Ok(OpenedRun { spec, held, engine, changes })
}

/// Who resumes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumedBy {
    /// The person, which also revokes a cancel.
    Person,
    /// A process that was started to drive the run. A cancel that came in between counts.
    Driver,
}

/// Resumes a run that no process drives.
pub fn resume(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    by: ResumedBy,
    decisions: &BTreeMap<String, StepDecision>,
) -> Result<OpenedRun, Refusal> {
    let held = match store.acquire_run(id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(mut held) => {
            limits::record_pending(&mut held, context.clock.now())?;
            held
        }
        RunAcquisition::HeldBy(holder) => {
            let holder = holder.map(|holder| format!(" (process {})", holder.pid));
            let holder = holder.unwrap_or_default();
            return Err(Refusal::new(
                RefusalCode::Busy,
                format!(
                    "run {id} is already running{holder}; follow it with \"{} runs attach {id}\"",
                    context.dialect.name
                ),
            ));
        }
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("run {id} does not exist")));
        }
    };
    if by == ResumedBy::Person {
        store.clear_cancel_mark(&Scope::Session(id.session()))?;
    }
    end_earlier_attempt(store, id)?;
    let mut spec: RunSpec = RunSpec::load(held.folder())?;
    spec.workspace = workspace::relocate(store, id, spec.workspace);
    let records: Vec<Record> = held.entries()?.into_iter().map(|entry| entry.record).collect();
    let environment = context.git_environment(store);
    let env = context.project_env(store, &environment);
    workspace::restore(&env, &held, &spec.workspace)?;
    let (mut engine, mut changes) = open_engine(context, store, &spec, id, &records, decisions)?;
    if let Some(repository) = RunRepository::open(&env, id, held.folder(), &spec.workspace)? {
        let difference = repository.difference().map_err(workspace::refusal)?;
        if let Some(difference) = difference {
            changes.extend(engine.workspace_differs(difference, decisions));
        }
    }
    let spec = engine.spec().clone();
    Ok(OpenedRun { spec, held, engine, changes })
}

/// Ends what an earlier process of the run left: nothing of it may work beside this one.
fn end_earlier_attempt(store: &Store, id: &RunId) -> Result<(), Refusal> {
    let left = stop::end_leftovers(store, id);
    if left.is_empty() {
        return Ok(());
    }
    let names = left.iter().map(|info| format!("{} (process {})", info.program, info.id.pid));
    Err(Refusal::new(
        RefusalCode::Busy,
        format!(
            "processes of an earlier attempt at run {id} still work in its folder and cannot be \
             ended: {}; end them, then resume the run",
            names.collect::<Vec<_>>().join(", ")
        ),
    ))
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

//! Changes the limits of a run: iterations, tokens, money, time.

use std::time::{Duration, Instant};

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::{Budget, LimitChange, Record, limits};
use omx_store::Store;
use omx_store::runs::{HeldRun, Liveness, LockHolder, RunAcquisition};
use serde_json::json;

use super::find::open_folder;
use super::select::RunSelector;
use crate::context::Context;
use crate::report;

/// The poll interval while the run's process takes the limits over.
const POLL: Duration = Duration::from_millis(20);

/// A request to change the limits of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLimitRequest {
    /// The run.
    pub run: RunSelector,
    /// The new iteration limit.
    pub max_iterations: Option<u64>,
    /// The new budget. Limits that it does not name stay in force.
    pub budget: Budget,
}

/// When changed limits take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitEffect {
    /// They are in force: the process that drives the run has taken them over.
    Now,
    /// When the run is resumed. No process drives it.
    OnResume,
    /// When the process that drives the run responds. It did not do so in time.
    Pending,
}

impl LimitEffect {
    /// The moment as a word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::OnResume => "on_resume",
            Self::Pending => "pending",
        }
    }
}

/// The changed limits.
#[derive(Debug)]
pub struct RunLimitReport {
    /// The run.
    pub id: RunId,
    /// The records that put the limits into force.
    pub records: Vec<Record>,
    /// When they take effect.
    pub effect: LimitEffect,
}

impl RunLimitReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        report::from_json(&json!({
            "id": self.id.as_str(),
            "records": self.records,
            "takes_effect": self.effect.as_str(),
        }))
    }
}

/// Changes the limits of a run, whether or not a process drives it.
pub fn run_limit(
    context: &Context<'_>,
    request: &RunLimitRequest,
) -> Result<RunLimitReport, Refusal> {
    let (store, id) = request.run.find_for_person(context, "limit")?;
    let change = LimitChange { max_iterations: request.max_iterations, budget: request.budget };
    let records = change.records();
    if records.is_empty() {
        return Err(Refusal::invalid_input("name a number of iterations or a budget"));
    }
    let effect = match store.acquire_run(&id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => {
            record(context, held, &records)?;
            LimitEffect::OnResume
        }
        RunAcquisition::HeldBy(_) => ask_process(context, &store, &id, change)?,
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("there is no run {id}")));
        }
    };
    Ok(RunLimitReport { id, records, effect })
}

/// Records the limits of a run that no process drives.
fn record(context: &Context<'_>, mut held: HeldRun, records: &[Record]) -> Result<(), Refusal> {
    limits::record_pending(&mut held, context.now())?;
    for record in records {
        held.journal().append(context.now(), record)?;
    }
    Ok(())
}

/// Hands the limits to the process that drives the run, and waits until it has them.
fn ask_process(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    change: LimitChange,
) -> Result<LimitEffect, Refusal> {
    let folder = open_folder(store, id)?;
    let request = limits::request(&folder, context.now(), change)?;
    context.caller.before_wait();
    let deadline = Instant::now() + context.lock_deadline;
    while limits::is_pending(&folder, &request) {
        if folder.liveness()? == Liveness::Ended {
            // The process exited first: whoever resumes the run takes the limits over.
            return Ok(LimitEffect::OnResume);
        }
        if Instant::now() >= deadline {
            return Ok(LimitEffect::Pending);
        }
        std::thread::sleep(POLL);
    }
    Ok(LimitEffect::Now)
}

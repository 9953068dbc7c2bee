//! Raises the limits of a run: iterations, tokens, money, time.

use omx_kernel::{Refusal, RunId, Value};
use omx_runs::{Budget, Record};
use serde_json::json;

use super::select::{RunSelector, acquire};
use crate::context::Context;
use crate::report;

/// A request to raise the limits of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLimitRequest {
    /// The run.
    pub run: RunSelector,
    /// The new iteration limit.
    pub max_iterations: Option<u64>,
    /// The new budget. Limits that it does not name stay in force.
    pub budget: Budget,
}

/// The raised limits.
#[derive(Debug)]
pub struct RunLimitReport {
    /// The run.
    pub id: RunId,
    /// The records added to the journal.
    pub records: Vec<Record>,
}

impl RunLimitReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        report::from_json(&json!({"id": self.id.as_str(), "records": self.records}))
    }
}

/// Raises the limits of a run that no process drives.
pub fn run_limit(
    context: &Context<'_>,
    request: &RunLimitRequest,
) -> Result<RunLimitReport, Refusal> {
    let (store, id) = request.run.find_for_person(context, "limit")?;
    let iterations =
        request.max_iterations.map(|max_iterations| Record::LimitRaised { max_iterations });
    let budget = request.budget;
    let budget = (budget != Budget::default()).then_some(Record::BudgetRaised { budget });
    let records: Vec<Record> = iterations.into_iter().chain(budget).collect();
    if records.is_empty() {
        return Err(Refusal::invalid_input("name a number of iterations or a budget"));
    }
    let mut held = acquire(&store, &id, "raise its limits when it has stopped")?;
    for record in &records {
        held.journal().append(context.now(), record)?;
    }
    Ok(RunLimitReport { id, records })
}

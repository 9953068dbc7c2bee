//! The person allows a run more: iterations, tokens, money, time.

use omx_kernel::{Refusal, RefusalCode};
use omx_ops::Context;
use omx_runs::Record;
use omx_runs::spec::Budget;
use omx_store::Store;
use omx_store::runs::{LockHolder, RunAcquisition};

use super::find;
use crate::cli_runs::LimitArgs;
use crate::commands::conduct::request::{micro_usd, seconds};
use crate::exit::Exit;
use crate::output;

pub(super) fn limit(
    context: &Context<'_>,
    store: &Store,
    args: &LimitArgs,
) -> Result<Exit, Refusal> {
    let id = find(store, Some(&args.id))?;
    let records = records(args)?;
    let mut held = match store.acquire_run(&id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => held,
        RunAcquisition::HeldBy(_) => {
            return Err(Refusal::new(
                RefusalCode::Busy,
                format!("run {id} is going on; its limits can be raised when it has stopped"),
            ));
        }
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("there is no run {id}")));
        }
    };
    for record in &records {
        held.journal().append(context.clock.now(), record)?;
    }
    Ok(output::text(&format!("Run {id} may do more. Go on: omx runs resume {id}\n")))
}

fn records(args: &LimitArgs) -> Result<Vec<Record>, Refusal> {
    let budget = Budget {
        tokens: args.budget_tokens,
        micro_usd: args.budget_usd.as_deref().map(micro_usd).transpose()?,
        seconds: args.budget_time.as_deref().map(seconds).transpose()?,
    };
    let iterations =
        args.max_iterations.map(|max_iterations| Record::LimitRaised { max_iterations });
    let budget = (budget != Budget::default()).then_some(Record::BudgetRaised { budget });
    let records: Vec<Record> = iterations.into_iter().chain(budget).collect();
    if records.is_empty() {
        return Err(Refusal::invalid_input(
            "say what it may do: a number of iterations, or a --budget-…",
        ));
    }
    Ok(records)
}

//! What the person changes about a run when they resume it: the agent, the model, the
//! permissions, the check, limits and budgets. A change is recorded and holds for the rest of
//! the run.

use std::path::PathBuf;

use omx_kernel::approval::AllowLevel;
use omx_kernel::price::check_money_budget;
use omx_kernel::{AgentKind, GuardedAct, Refusal, RunId, RunState};
use omx_runs::overview::overview;
use omx_runs::{Budget, LimitChange, Record, RunSpec, SpecChange, limits};
use omx_store::Store;

use super::budget::{configured_limits, configured_prices, with_configured};
use super::find::open_folder;
use super::ownership::{append_changes, require_own};
use super::select::acquire;
use crate::config::{self, Config, Origin};
use crate::context::Context;

/// What a resume changes. What is absent stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunChange {
    /// The task, which cannot change.
    pub task: Option<String>,
    /// The agent.
    pub agent: Option<AgentKind>,
    /// The model for every role.
    pub model: Option<String>,
    /// What agents may do without permission.
    pub allow: Option<AllowLevel>,
    /// The project's check command.
    pub check: Option<String>,
    /// The iteration limit.
    pub max_iterations: Option<u64>,
    /// The budget, including what the run has used. Limits that it does not name stay.
    pub budget: Budget,
    /// The rehearsal agent's scenario.
    pub scenario: Option<PathBuf>,
}

/// Records what a resume changes, before the run is resumed.
pub fn record_change(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    change: &RunChange,
) -> Result<(), Refusal> {
    context.check_act(GuardedAct::OfPerson("resume a run"))?;
    let folder = open_folder(store, id)?;
    require_own(context, &folder)?;
    let config = config::load_trusted(context, store)?;
    let seen = overview(store, &folder)?;
    check_task(change.task.as_deref(), &seen.spec)?;
    let records = records(context, store, &config, change, &seen.spec)?;
    if records.is_empty() {
        return Ok(());
    }
    if seen.state == RunState::COMPLETE {
        let why = format!("run {id} is complete; nothing about it can be changed");
        return Err(Refusal::invalid_input(why));
    }
    let mut held = acquire(store, id, "change its limits, or resume it when it has stopped")?;
    limits::record_pending(&mut held, context.now())?;
    append_changes(context, &mut held, &records)
}

/// A run keeps its task: every finished step is an answer to it.
fn check_task(task: Option<&str>, spec: &RunSpec) -> Result<(), Refusal> {
    match task.map(str::trim) {
        Some(task) if !spec.task.raw().trim().starts_with(task) => Err(Refusal::invalid_input(
            "a resumed run keeps its task; start a new run for another one",
        )),
        _ => Ok(()),
    }
}

/// The records that put a change into force.
fn records(
    context: &Context<'_>,
    store: &Store,
    config: &Config,
    change: &RunChange,
    spec: &RunSpec,
) -> Result<Vec<Record>, Refusal> {
    let flag = |key: &str| config.get(key).filter(|setting| setting.origin == Origin::Flag);
    let text = |key: &str| flag(key).and_then(|it| it.value.as_str()).map(str::to_owned);
    let agent = change.agent.map(|agent| agent.as_str().to_owned()).or_else(|| text("agent"));
    let allow = change.allow.map(|allow| allow.as_str().to_owned()).or_else(|| text("allow"));
    let scenario = change.scenario.as_ref().map(|file| {
        let file = context.place.working_directory.join(file);
        std::path::absolute(&file).unwrap_or(file)
    });
    let is_limited =
        ["limits.patience", "limits.check_time"].into_iter().any(|key| flag(key).is_some());
    let is_budgeted =
        ["budget.tokens", "budget.usd", "budget.time"].into_iter().any(|key| flag(key).is_some());
    let budget = match is_budgeted {
        true => with_configured(change.budget, config)?,
        false => change.budget,
    };
    let has_money_budget = spec.budget.changed_by(budget).micro_usd.is_some();
    let prices = configured_prices(config)?;
    let spec_change = SpecChange {
        agent,
        model: change.model.clone(),
        allow,
        check: change.check.clone().or_else(|| text("check")).map(Into::into),
        // Prices that the person has set since the start.
        prices: (has_money_budget && !prices.is_empty()).then_some(prices),
        limits: is_limited.then(|| configured_limits(config)),
        scenario,
    }
    .since(spec);
    let limits = LimitChange {
        max_iterations: change.max_iterations.filter(|most| spec.max_iterations != Some(*most)),
        budget: if spec.budget.changed_by(budget) == spec.budget {
            Budget::default()
        } else {
            budget
        },
    };
    let mut records = limits.records();
    if !spec_change.is_empty() {
        records.push(Record::SpecChanged { change: spec_change.clone() });
    }
    let mut changed = spec.clone();
    records.iter().for_each(|record| changed.apply(record));
    check_changed(context, store, config, &spec_change, &changed)?;
    Ok(records)
}

/// Refuses a change with which the run could not continue.
fn check_changed(
    context: &Context<'_>,
    store: &Store,
    config: &Config,
    change: &SpecChange,
    spec: &RunSpec,
) -> Result<(), Refusal> {
    let agent = AgentKind::parse(&spec.agent)
        .ok_or_else(|| Refusal::invalid_input(format!("unknown agent {:?}", spec.agent)))?;
    if change.agent.is_some() || change.scenario.is_some() {
        if agent == AgentKind::Rehearsal && spec.scenario.is_none() {
            let why = "the rehearsal agent needs a scenario; name its file";
            return Err(Refusal::invalid_input(why));
        }
        context.runs.find_agent(context, store, Some(agent), spec.scenario.as_deref())?;
    }
    if spec.budget.micro_usd.is_some() {
        let tier = |tier: &str| {
            let key = format!("tiers.{}.{tier}", agent.as_str());
            config.get(&key).and_then(|setting| setting.value.as_str()).map(str::to_owned)
        };
        let tiers = ["low", "medium", "high"].map(tier);
        let models: Vec<Option<&str>> = match &spec.model {
            Some(model) => vec![Some(model)],
            None => tiers.iter().map(Option::as_deref).collect(),
        };
        check_money_budget(agent, &models, &spec.prices, context.dialect)?;
    }
    Ok(())
}

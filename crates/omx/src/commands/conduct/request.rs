//! Turns flags into a request for a run.

use omx_kernel::{Mode, Refusal};
use omx_ops::config;
use omx_ops::{CheckGoal, RunChange, RunRequest, parse_span, parse_usd};
use omx_runs::workspace::WorkspaceChoice;
use omx_runs::{Budget, VerificationLevel};

use crate::cli_runs::{BudgetFlags, ChangeFlags, RunFlags, UltraqaArgs};

/// The goal that the flags select.
pub(super) fn goal(args: &UltraqaArgs) -> CheckGoal {
    if let Some(command) = &args.command {
        CheckGoal::Command(command.clone())
    } else if args.build {
        CheckGoal::Build
    } else if args.lint {
        CheckGoal::Lint
    } else if args.typecheck {
        CheckGoal::Types
    } else {
        CheckGoal::Project
    }
}

/// Adds the flags that all modes share to a request.
pub(super) fn with_flags(request: RunRequest, flags: &RunFlags) -> Result<RunRequest, Refusal> {
    let change = run_change(&flags.change)?;
    Ok(RunRequest {
        agent: change.agent,
        model: change.model,
        allow: change.allow,
        check: change.check,
        verification: flags.verify.as_deref().map(|level| match level {
            "light" => VerificationLevel::Light,
            "standard" => VerificationLevel::Standard,
            _ => VerificationLevel::Thorough,
        }),
        max_iterations: change.max_iterations,
        budget: change.budget,
        workspace: match (flags.in_place, flags.dirty) {
            (true, true) => WorkspaceChoice::InPlaceDirty,
            (true, false) => WorkspaceChoice::InPlace,
            (false, _) => WorkspaceChoice::Worktree,
        },
        scenario: change.scenario,
        ..request
    })
}

/// The configuration keys that flags of a mode set, as `KEY=VALUE`. What the person types
/// counts instead of any file, so nothing waits for trust that it overrides.
pub(in crate::commands) fn settings(mode: Option<Mode>, flags: &ChangeFlags) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let budget = &flags.budget;
    let given = [
        ("agent".to_owned(), flags.agent.map(|agent| agent.as_str().to_owned())),
        ("check".to_owned(), text(&flags.check)),
        ("allow".to_owned(), flags.allow.map(|allow| allow.as_str().to_owned())),
        ("budget.tokens".to_owned(), budget.budget_tokens.map(|tokens| tokens.to_string())),
        ("budget.usd".to_owned(), text(&budget.budget_usd)),
        ("budget.time".to_owned(), text(&budget.budget_time)),
        (
            format!("limits.max_iterations.{}", mode.map_or("", Mode::name)),
            flags.max_iterations.map(|limit| limit.to_string()),
        ),
    ];
    // A value that no file could hold is judged where its flag is.
    let is_valid = |key: &str, value: &str| config::checked(key, value).is_ok();
    let given = given.into_iter().filter_map(|(key, value)| Some((key, value?)));
    given.filter(|(key, value)| is_valid(key, value)).map(|(k, v)| format!("{k}={v}")).collect()
}

/// What the flags of a mode change about the run that they resume. Refuses flags that decide
/// what the steps of a run are: those that are done depend on them.
pub(super) fn change(request: &RunRequest, flags: &RunFlags) -> Result<RunChange, Refusal> {
    let given = [
        ("--verify", flags.verify.is_some()),
        ("--in-place", flags.in_place),
        ("--base", request.base.is_some()),
        ("--preset and --stages", request.mode == Mode::Pipeline && !request.stages.is_empty()),
        ("--command and the other goals", request.goal != CheckGoal::Project),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Refusal::invalid_input(format!(
            "{flag} cannot change with a resume: the steps that are done depend on it; start a \
             new run, or resume without it"
        )));
    }
    Ok(RunChange { task: request.task.clone(), ..run_change(&flags.change)? })
}

/// What the flags change about a run.
pub(in crate::commands) fn run_change(flags: &ChangeFlags) -> Result<RunChange, Refusal> {
    Ok(RunChange {
        task: None,
        agent: flags.agent,
        model: flags.model.clone(),
        allow: flags.allow,
        check: flags.check.clone(),
        max_iterations: flags.max_iterations,
        budget: budget(&flags.budget)?,
        scenario: flags.scenario.clone(),
    })
}

/// The budget that the flags set.
pub(in crate::commands) fn budget(flags: &BudgetFlags) -> Result<Budget, Refusal> {
    Ok(Budget {
        tokens: flags.budget_tokens,
        micro_usd: flags.budget_usd.as_deref().map(parse_usd).transpose()?,
        seconds: flags.budget_time.as_deref().map(parse_span).transpose()?,
    })
}

//! Turns flags into a request for a run.

use omx_kernel::Refusal;
use omx_ops::{CheckGoal, RunRequest, parse_span, parse_usd};
use omx_runs::workspace::WorkspaceChoice;
use omx_runs::{Budget, VerificationLevel};

use crate::cli_runs::{LimitArgs, RunFlags, UltraqaArgs};

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
    Ok(RunRequest {
        agent: flags.agent,
        model: flags.model.clone(),
        allow: flags.allow,
        check: flags.check.clone(),
        verification: flags.verify.as_deref().map(|level| match level {
            "light" => VerificationLevel::Light,
            "standard" => VerificationLevel::Standard,
            _ => VerificationLevel::Thorough,
        }),
        max_iterations: flags.max_iterations,
        budget: budget(
            flags.budget_tokens,
            flags.budget_usd.as_deref(),
            flags.budget_time.as_deref(),
        )?,
        workspace: match (flags.in_place, flags.dirty) {
            (true, true) => WorkspaceChoice::InPlaceDirty,
            (true, false) => WorkspaceChoice::InPlace,
            (false, _) => WorkspaceChoice::Worktree,
        },
        scenario: flags.scenario.clone(),
        ..request
    })
}

/// The budget that the flags of `runs limit` set.
pub(in crate::commands) fn limit_budget(args: &LimitArgs) -> Result<Budget, Refusal> {
    budget(args.budget_tokens, args.budget_usd.as_deref(), args.budget_time.as_deref())
}

fn budget(tokens: Option<u64>, usd: Option<&str>, time: Option<&str>) -> Result<Budget, Refusal> {
    Ok(Budget {
        tokens,
        micro_usd: usd.map(parse_usd).transpose()?,
        seconds: time.map(parse_span).transpose()?,
    })
}

//! Builds the request for a run from flags and configuration.

use omx_agents::AgentKind;
use std::path::Path;

use omx_conductor::check;
use omx_conductor::start::RunRequest;
use omx_kernel::approval::AllowLevel;
use omx_kernel::{Mode, Refusal, RunId};
use omx_ops::Context;
use omx_ops::config::Config;
use omx_runs::spec::{Budget, VerificationLevel, Workspace};
use omx_runs::workspace::{self, WorkspaceChoice};
use omx_store::Store;

use super::{ModeRequest, agent};
use crate::cli_runs::{RunFlags, UltraqaArgs};
use crate::edge;
use crate::output;

/// What the check command of a quality loop verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) enum CheckGoal {
    /// The project's own check.
    Project,
    /// The project builds.
    Build,
    /// The linter passes.
    Lint,
    /// The type checker passes.
    Types,
    /// This command succeeds.
    Command(String),
}

impl CheckGoal {
    pub(super) fn from_args(args: &UltraqaArgs) -> Self {
        if let Some(command) = &args.command {
            Self::Command(command.clone())
        } else if args.build {
            Self::Build
        } else if args.lint {
            Self::Lint
        } else if args.typecheck {
            Self::Types
        } else {
            Self::Project
        }
    }

    pub(super) fn describe(&self) -> String {
        match self {
            Self::Project => "Make the project's check pass.".to_owned(),
            Self::Build => "Make the project build.".to_owned(),
            Self::Lint => "Make the linter pass.".to_owned(),
            Self::Types => "Make the type checker pass.".to_owned(),
            Self::Command(command) => format!("Make `{command}` succeed."),
        }
    }
}

pub(super) fn run_request(
    request: &ModeRequest,
    flags: &RunFlags,
    context: &Context<'_>,
    store: &Store,
    config: &Config,
) -> Result<RunRequest, Refusal> {
    let task = request.task.clone().filter(|task| !task.trim().is_empty());
    let mut task = task.ok_or_else(|| {
        Refusal::invalid_input("no task given; name one, or resume a run with --resume")
    })?;
    if request.mode == Mode::CodeReview {
        task.push_str(&reviewed(request.base.as_deref()));
    }
    let setting =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let surroundings = edge::agent_env(context, store, flags.scenario.clone(), None)?;
    let named = flags.agent.map(|kind| kind.as_str().to_owned()).or_else(|| setting("agent"));
    let installation = agent::find_agent(named.as_deref(), &surroundings)?;
    if installation.kind == AgentKind::Rehearsal && flags.scenario.is_none() {
        return Err(Refusal::invalid_input(
            "the rehearsal agent needs a scenario: --scenario FILE",
        ));
    }
    let allow = flags.allow.map(|level| level.as_str().to_owned()).or_else(|| setting("allow"));
    let verification = match flags.verify.as_deref() {
        Some("light") if request.mode == Mode::Ralph => {
            return Err(Refusal::invalid_input(
                "ralph needs at least a verifier: use --verify standard or --verify thorough",
            ));
        }
        Some("light") => VerificationLevel::Light,
        Some("standard") => VerificationLevel::Standard,
        _ => VerificationLevel::Thorough,
    };
    Ok(RunRequest {
        mode: request.mode,
        task,
        agent: installation.kind.as_str().to_owned(),
        model: flags.model.clone(),
        allow: allow.unwrap_or_else(|| AllowLevel::Commands.as_str().to_owned()),
        check: check(request, flags, store, setting("check")),
        verification,
        max_iterations: flags.max_iterations,
        budget: budget(flags, config)?,
        stages: request.stages.clone(),
        scenario: surroundings.scenario,
    })
}

/// The check command: of the goal, from the flag, from the configuration, or
/// detected from the project's files.
fn check(
    request: &ModeRequest,
    flags: &RunFlags,
    store: &Store,
    configured: Option<String>,
) -> Option<String> {
    match &request.goal {
        CheckGoal::Command(command) => Some(command.clone()),
        CheckGoal::Build | CheckGoal::Lint | CheckGoal::Types => {
            flags.check.clone().or_else(|| goal_command(&request.goal, store.root()))
        }
        CheckGoal::Project => {
            flags.check.clone().or(configured).or_else(|| check::find(store.root()))
        }
    }
}

/// Describes the change under review to the reviewers.
fn reviewed(base: Option<&str>) -> String {
    match base {
        Some(base) => format!("\n\nThe change is the output of `git diff {base}`, plus untracked files."),
        None => "\n\nThe change is what is not committed yet (`git diff HEAD`, plus untracked files) or, \
                 if there is nothing, the last commit (`git show HEAD`)."
            .to_owned(),
    }
}

/// The command that verifies a goal, where the project's files make it obvious.
fn goal_command(goal: &CheckGoal, root: &Path) -> Option<String> {
    let has = |name: &str| root.join(name).is_file();
    let command = match goal {
        CheckGoal::Build if has("Cargo.toml") => "cargo build",
        CheckGoal::Build if has("go.mod") => "go build ./...",
        CheckGoal::Build if has("package.json") => "npm run build",
        CheckGoal::Lint if has("Cargo.toml") => "cargo clippy --all-targets -- -D warnings",
        CheckGoal::Lint if has("go.mod") => "go vet ./...",
        CheckGoal::Lint if has("package.json") => "npm run lint",
        CheckGoal::Types if has("Cargo.toml") => "cargo check --all-targets",
        CheckGoal::Types if has("tsconfig.json") => "npx tsc --noEmit",
        CheckGoal::Types if has("go.mod") => "go vet ./...",
        _ => return None,
    };
    Some(command.to_owned())
}

fn budget(flags: &RunFlags, config: &Config) -> Result<Budget, Refusal> {
    let text = |key: &str| config.get(key).map(|setting| setting.value.as_json().to_owned());
    let word =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let tokens = flags.budget_tokens.or_else(|| text("budget.tokens")?.parse().ok());
    let usd = flags.budget_usd.clone().or_else(|| text("budget.usd"));
    let time = flags.budget_time.clone().or_else(|| word("budget.time"));
    Ok(Budget {
        tokens,
        micro_usd: usd.as_deref().map(micro_usd).transpose()?,
        seconds: time.as_deref().map(seconds).transpose()?,
    })
}

/// A dollar amount in millionths of a dollar.
pub(in crate::commands) fn micro_usd(amount: &str) -> Result<u64, Refusal> {
    let wrong = || {
        Refusal::invalid_input(format!("--budget-usd {amount:?}: expected an amount such as 2.50"))
    };
    let dollars: f64 = amount.trim_start_matches('$').parse().map_err(|_| wrong())?;
    if !dollars.is_finite() || dollars <= 0.0 || dollars > 1e9 {
        return Err(wrong());
    }
    // In range, so only what is smaller than a millionth is lost.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok((dollars * 1e6).round() as u64)
}

/// A span of time in seconds.
pub(in crate::commands) fn seconds(span: &str) -> Result<u64, Refusal> {
    omx_ops::config::span_seconds(span).ok_or_else(|| {
        Refusal::invalid_input(format!("--budget-time {span:?}: expected a span such as 90m or 2h"))
    })
}

/// Prepares the workspace, and prints a warning about it if there is one.
pub(super) fn workspace(
    request: &ModeRequest,
    flags: &RunFlags,
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
) -> Result<Workspace, Refusal> {
    let choice = match (request.mode, flags.in_place, flags.dirty) {
        (Mode::CodeReview, ..) => WorkspaceChoice::ReadOnly,
        (_, true, true) => WorkspaceChoice::InPlaceDirty,
        (_, true, false) => WorkspaceChoice::InPlace,
        (_, false, _) => WorkspaceChoice::Worktree,
    };
    let environment = edge::environment();
    let (workspace, warning) =
        workspace::prepare(&context.project_env(store, &environment), id, choice)?;
    if let Some(warning) = warning {
        output::note(&format!("warning: {warning}"));
    }
    Ok(workspace)
}

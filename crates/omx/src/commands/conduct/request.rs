//! From flags and configuration to what a run is asked for.

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

/// What decides whether a run is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) enum CheckGoal {
    /// The project's own check.
    Project,
    /// The project builds.
    Build,
    /// The linter is content.
    Lint,
    /// The types fit.
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
            Self::Lint => "Make the linter content.".to_owned(),
            Self::Types => "Make the types fit.".to_owned(),
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
    let mut task =
        task.ok_or_else(|| Refusal::invalid_input("say what to do, or --resume a run"))?;
    if request.mode == Mode::CodeReview {
        task.push_str(&reviewed(request.base.as_deref()));
    }
    let setting =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let surroundings = edge::agent_env(context, store, flags.scenario.clone(), None)?;
    let named = flags.agent.map(|kind| kind.as_str().to_owned()).or_else(|| setting("agent"));
    let installation = agent::find_agent(named.as_deref(), &surroundings)?;
    if installation.kind == AgentKind::Rehearsal && flags.scenario.is_none() {
        return Err(Refusal::invalid_input("the rehearsal agent needs a --scenario to play"));
    }
    let allow = flags.allow.map(|level| level.as_str().to_owned()).or_else(|| setting("allow"));
    let verification = match flags.verify.as_deref() {
        Some("light") if request.mode == Mode::Ralph => {
            return Err(Refusal::invalid_input(
                "ralph is verified by a verifier at least: standard or thorough",
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

/// The command that decides: the mode's own goal, the flag, the configuration,
/// or what is obvious from the project's files.
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

/// What a review looks at, in words for the reviewers.
fn reviewed(base: Option<&str>) -> String {
    match base {
        Some(base) => format!("\n\nThe change is what `git diff {base}` shows, with files that are not in git yet."),
        None => "\n\nThe change is what is not committed yet (`git diff HEAD`, with files that are not in git \
                 yet); if nothing is, it is the last commit (`git show HEAD`)."
            .to_owned(),
    }
}

/// The command of a goal that is not the project's own check, where obvious.
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

/// An amount of dollars in millionths of one.
pub(in crate::commands) fn micro_usd(amount: &str) -> Result<u64, Refusal> {
    let wrong = || {
        Refusal::invalid_input(format!("--budget-usd {amount:?}: wanted an amount such as 2.50"))
    };
    let dollars: f64 = amount.trim_start_matches('$').parse().map_err(|_| wrong())?;
    if !dollars.is_finite() || dollars <= 0.0 || dollars > 1e9 {
        return Err(wrong());
    }
    // In range, so nothing is lost but what is smaller than a millionth.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok((dollars * 1e6).round() as u64)
}

/// A span of time in seconds.
pub(in crate::commands) fn seconds(span: &str) -> Result<u64, Refusal> {
    omx_ops::config::span_seconds(span).ok_or_else(|| {
        Refusal::invalid_input(format!("--budget-time {span:?}: wanted a span such as 90m or 2h"))
    })
}

/// Where the run works, and what the person should know of it.
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

//! From flags and configuration to what a run is asked for.

use omx_agents::AgentKind;
use omx_conductor::asked::{Budget, Ground, Rigour};
use omx_conductor::start::Wish;
use omx_kernel::approval::Allow;
use omx_kernel::{Mode, Refusal, RunId};
use omx_ops::Context;
use omx_ops::config::Config;
use omx_store::Store;

use super::{Order, choose};
use crate::cli_runs::{RunFlags, UltraqaArgs};
use crate::edge;

/// What decides whether a run is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Goal {
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

impl Goal {
    pub(super) fn of(args: &UltraqaArgs) -> Self {
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

    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Project => "Make the project's check pass.".to_owned(),
            Self::Build => "Make the project build.".to_owned(),
            Self::Lint => "Make the linter content.".to_owned(),
            Self::Types => "Make the types fit.".to_owned(),
            Self::Command(command) => format!("Make `{command}` succeed."),
        }
    }
}

pub(super) fn wish(
    order: &Order,
    flags: &RunFlags,
    context: &Context<'_>,
    store: &Store,
    config: &Config,
) -> Result<Wish, Refusal> {
    let task = order.task.clone().filter(|task| !task.trim().is_empty());
    let task = task.ok_or_else(|| Refusal::input("say what to do, or --resume a run"))?;
    let setting =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let surroundings = edge::surroundings(context.dialect, store.tree(), flags.scenario.clone())?;
    let named = flags.agent.clone().or_else(|| setting("agent"));
    let installation = choose::agent(named.as_deref(), &surroundings)?;
    if installation.kind == AgentKind::Rehearsal && flags.scenario.is_none() {
        return Err(Refusal::input("the rehearsal agent needs a --scenario to play"));
    }
    let allow = flags.allow.clone().or_else(|| setting("allow"));
    let rigour = match flags.verify.as_deref() {
        Some("light") if order.mode == Mode::Ralph => {
            return Err(Refusal::input(
                "ralph is verified by a verifier at least: standard or thorough",
            ));
        }
        Some("light") => Rigour::Light,
        Some("standard") => Rigour::Standard,
        _ => Rigour::Thorough,
    };
    Ok(Wish {
        mode: order.mode,
        task,
        agent: installation.kind.as_str().to_owned(),
        model: flags.model.clone(),
        allow: allow.unwrap_or_else(|| Allow::Commands.as_str().to_owned()),
        check: check(order, flags, store, setting("check")),
        rigour,
        max_iterations: flags.max_iterations,
        budget: budget(flags, config)?,
        stages: order.stages.clone(),
        scenario: surroundings.scenario,
    })
}

/// The command that decides: the mode's own goal, the flag, the configuration,
/// or what is obvious from the project's files.
fn check(
    order: &Order,
    flags: &RunFlags,
    _store: &Store,
    configured: Option<String>,
) -> Option<String> {
    match &order.goal {
        Goal::Command(command) => Some(command.clone()),
        _ => flags.check.clone().or(configured),
    }
}

fn budget(flags: &RunFlags, config: &Config) -> Result<Budget, Refusal> {
    let text = |key: &str| config.get(key).map(|setting| setting.value.text().to_owned());
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

fn micro_usd(amount: &str) -> Result<u64, Refusal> {
    let wrong =
        || Refusal::input(format!("--budget-usd {amount:?}: wanted an amount such as 2.50"));
    let dollars: f64 = amount.trim_start_matches('$').parse().map_err(|_| wrong())?;
    if !dollars.is_finite() || dollars <= 0.0 || dollars > 1e9 {
        return Err(wrong());
    }
    // In range, so nothing is lost but what is smaller than a millionth.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    Ok((dollars * 1e6).round() as u64)
}

fn seconds(span: &str) -> Result<u64, Refusal> {
    omx_ops::config::span_seconds(span).ok_or_else(|| {
        Refusal::input(format!("--budget-time {span:?}: wanted a span such as 90m or 2h"))
    })
}

/// Where the run works.
pub(super) fn ground(
    _order: &Order,
    _flags: &RunFlags,
    _context: &Context<'_>,
    store: &Store,
    _id: &RunId,
    _wish: &Wish,
) -> Result<Ground, Refusal> {
    Ok(Ground::InPlace { path: store.root().to_owned() })
}

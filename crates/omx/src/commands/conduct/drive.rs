//! Drives a run in this process, with its view and signals.

use std::collections::BTreeMap;

use omx_agents::{AgentKind, AgentLimits};
use omx_conductor::drive::{Drive, EndedRun, ProjectWorld, RoleCard, RunEnv};
use omx_conductor::sandbox::SandboxSetup;
use omx_conductor::start::OpenedRun;
use omx_host::catalog;
use omx_kernel::approval::AllowLevel;
use omx_kernel::{Refusal, RunId};
use omx_ops::config;
use omx_ops::{Context, RunStartReport, register_run};
use omx_process::guard::adopt_unguarded;
use omx_rehearsal::driver;
use omx_runs::RunSpec;
use omx_runs::progress::Progress;
use omx_store::Store;

use super::agent::refusal;
use super::announce::announce;
use super::stopping::StopRequests;
use super::{summary, workspace};
use crate::cli_runs::RunFlags;
use crate::edge;
use crate::exit::Exit;
use crate::live::Live;
use crate::output::Format;
use crate::{relay, sandbox};

/// How long this process drives a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPlacement {
    /// Until the run ends.
    Foreground,
    /// Until its parent with this process id exits.
    WithParent(u32),
}

impl RunPlacement {
    /// The placement that the flags request.
    pub fn from_flags(flags: &RunFlags) -> Self {
        flags.parent.map_or(Self::Foreground, Self::WithParent)
    }
}

/// Drives a run in this process.
pub(super) fn drive(
    context: &Context<'_>,
    store: &Store,
    mut opened: OpenedRun,
    mut warnings: Vec<String>,
    requests: &StopRequests,
    format: Format,
) -> Result<Exit, Refusal> {
    adopt_unguarded();
    let id = opened.held.id().clone();
    let setup = sandbox::setup(context, &config::load_trusted(context, store)?);
    permit_run(context, &setup, &opened)?;
    warnings.extend(register_run(context, store, &opened.spec, &opened.held));
    let report = RunStartReport { id: id.clone(), spec: opened.spec.clone(), warnings };
    announce(&report, &setup, format);
    let made = workspace::make(context, store, &mut opened, requests);
    let mut env = run_env(context, store, &opened.spec, &id, setup)?;
    // The rehearsal agent counts plays for each run.
    env.agents.rehearsal_folder = opened.held.folder().path().join("rehearsal");
    let spec = opened.spec.clone();
    if let Some(outcome) = made? {
        let ended = EndedRun { outcome, usage: opened.engine.usage() };
        return summary::print(context, store, &spec, &id, &ended, &[], format);
    }
    let live = Live::new(format, &id, context.dialect);
    let show = |progress: &Progress| live.show(progress);
    let mut world = ProjectWorld::new(&env, opened.spec, opened.held, show)?;
    requests.forward_to(world.handle());
    let drive = Drive::new(&mut world, opened.engine);
    let ended = drive.run(env!("CARGO_PKG_VERSION"), opened.changes);
    live.finish();
    let unplayed = summary::unplayed(&spec, &ended.outcome, &env.agents);
    summary::print(context, store, &spec, &id, &ended, &unplayed, format)
}

/// Asks the person if this system cannot confine what the run starts.
pub(super) fn permit_run(
    context: &Context<'_>,
    setup: &SandboxSetup,
    opened: &OpenedRun,
) -> Result<(), Refusal> {
    let allow = AllowLevel::parse(&opened.spec.allow).unwrap_or(AllowLevel::Commands);
    let run = opened.held.folder().path();
    let consent = sandbox::permit(context, setup, setup.check_confined_by(allow), Some(run))?;
    sandbox::record(consent, run);
    Ok(())
}

fn run_env<'a>(
    context: &'a Context<'a>,
    store: &'a Store,
    spec: &RunSpec,
    id: &RunId,
    setup: SandboxSetup,
) -> Result<RunEnv<'a>, Refusal> {
    let config = config::load_trusted(context, store)?;
    let sandbox = sandbox::create(setup, id.as_str())?;
    let relay = sandbox.relay();
    let scenario = spec.scenario.clone();
    let agents = edge::agent_env(context, store, scenario, Some(id), Some(&relay))?;
    relay::listen(&relay, context, &agents)?;
    let kind = AgentKind::parse(&spec.agent)
        .ok_or_else(|| Refusal::invalid_input(format!("unknown agent {:?}", spec.agent)))?;
    let installation = driver(kind).find(&agents).map_err(|failure| refusal(&failure))?;
    let roles = catalog::load_roles(store.tree(), context.dialect)
        .map_err(|error| Refusal::invalid_input(error.to_string()))?;
    let roles: BTreeMap<String, RoleCard> = roles
        .into_iter()
        .map(|role| {
            let key = format!("tiers.{kind}.{}", role.tier.as_str());
            let model = config.get(&key).and_then(|setting| setting.value.as_str());
            (role.name, RoleCard { prompt: role.prompt, model: model.map(str::to_owned) })
        })
        .collect();
    Ok(RunEnv {
        context,
        store,
        roles,
        installations: [(kind, installation)].into(),
        agents,
        limits: AgentLimits::default(),
        sandbox,
    })
}

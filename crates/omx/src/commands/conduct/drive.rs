//! Drives a run: in this process, with its view and signals, or in another one.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use omx_agents::{AgentKind, AgentLimits};
use omx_conductor::drive::{Drive, ProjectWorld, RoleCard, RunEnv};
use omx_conductor::start::OpenedRun;
use omx_host::catalog;
use omx_kernel::{Refusal, RefusalCode, RunId};
use omx_ops::Context;
use omx_ops::config;
use omx_process::platform::detached_command;
use omx_rehearsal::driver;
use omx_runs::RunSpec;
use omx_runs::progress::Progress;
use omx_store::Store;
use omx_store::runs::{Liveness, RegisteredRun, RunRegistry};
use serde_json::json;

use super::agent::refusal;
use super::summary;
use crate::children;
use crate::cli_runs::RunFlags;
use crate::edge;
use crate::exit::Exit;
use crate::live::Live;
use crate::output::{self, Format};

/// How long a background process may take to acquire the run.
const TAKE_OVER: Duration = Duration::from_secs(20);
/// Poll interval while it does.
const POLL: Duration = Duration::from_millis(10);

/// The process that drives the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPlacement {
    /// This one.
    Foreground,
    /// This one, for as long as its parent, with this process id, lives.
    WithParent(u32),
    /// Another one, in the background.
    Background,
}

impl RunPlacement {
    /// The placement that the flags ask for.
    pub fn from_flags(flags: &RunFlags) -> Self {
        match flags.parent {
            _ if flags.detach => Self::Background,
            Some(parent) => Self::WithParent(parent),
            None => Self::Foreground,
        }
    }
}

/// Drives a run, here or in the background.
pub fn drive(
    context: &Context<'_>,
    store: &Store,
    opened: OpenedRun,
    placement: RunPlacement,
    format: Format,
) -> Result<Exit, Refusal> {
    let id = opened.held.id().clone();
    announce(&opened.spec, id.as_str(), format);
    register(context, store, &opened);
    if placement == RunPlacement::Background {
        // Releases the lock, for the other process to acquire.
        drop(opened);
        return detach(context, store, &id, format);
    }
    let mut env = run_env(context, store, &opened.spec, &id)?;
    // The rehearsal agent counts plays per run.
    env.agents.rehearsal_folder = opened.held.folder().path().join("rehearsal");
    let spec = opened.spec.clone();
    let live = Live::new(format, &id, context.dialect);
    let show = |progress: &Progress| live.show(progress);
    let mut world = ProjectWorld::new(&env, opened.spec, opened.held, show)?;
    let handle = world.handle();
    let stopped = AtomicBool::new(false);
    let unwatched = |what: &str, error: std::io::Error| {
        Refusal::new(RefusalCode::Io, format!("cannot watch for {what}: {error}"))
    };
    if let RunPlacement::WithParent(parent) = placement {
        let handle = handle.clone();
        omx_process::on_parent_exit(Some(parent), move || handle.stop())
            .map_err(|error| unwatched("the exit of the parent process", error))?;
    }
    edge::on_interrupt(move || {
        if stopped.swap(true, Ordering::Relaxed) {
            // The second time, exit at once: guards terminate the agents, and the journal is
            // consistent after every record.
            std::process::exit(Exit::Interrupted.code());
        }
        handle.stop();
    })
    .map_err(|error| unwatched("signals", error))?;
    let drive = Drive::new(&mut world, opened.engine);
    let ended = drive.run(env!("CARGO_PKG_VERSION"), opened.changes);
    live.finish();
    summary::print(context, store, &spec, &id, &ended, &env.agents, format)
}

fn run_env<'a>(
    context: &'a Context<'a>,
    store: &'a Store,
    spec: &RunSpec,
    id: &RunId,
) -> Result<RunEnv<'a>, Refusal> {
    let config = config::load(context, store)?;
    let agents = edge::agent_env(context, store, spec.scenario.clone(), Some(id))?;
    let kind = AgentKind::parse(&spec.agent)
        .ok_or_else(|| Refusal::invalid_input(format!("unknown agent {:?}", spec.agent)))?;
    let installation = driver(kind).find(&agents).map_err(|failure| refusal(&failure))?;
    let roles = catalog::load_roles(store.tree())
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
    })
}

/// Registers the run for `ps`. The entry is dropped once the run's lock is free.
fn register(context: &Context<'_>, store: &Store, opened: &OpenedRun) {
    let Some(folder) = edge::registry_folder(context.dialect) else { return };
    let entry = RegisteredRun {
        run: opened.held.id().clone(),
        root: store.root().to_owned(),
        tree: store.tree().to_owned(),
        mode: opened.spec.mode.name().to_owned(),
        task: opened.spec.task.clone(),
        pid: std::process::id(),
        started: context.clock.now(),
    };
    if let Err(error) = RunRegistry::new(folder).add(&opened.held, &entry) {
        // The run works without it.
        let program = context.dialect.name;
        output::note(&format!("warning: {program} ps will not list this run: {error}"));
    }
}

/// Prints what is in effect before anything happens.
fn announce(spec: &RunSpec, id: &str, format: Format) {
    let folder = spec.workspace.folder().display().to_string();
    if format == Format::Json {
        let object = json!({
            "event": "run", "id": id, "mode": spec.mode.name(), "task": spec.task,
            "agent": spec.agent, "allow": spec.allow, "check": spec.check, "folder": folder,
        });
        output::text(&format!("{object}\n"));
        return;
    }
    let allowed = match spec.allow.as_str() {
        "edits" => "may edit files there; asks you before it runs commands",
        "all" => "may do anything: its own safeguards are off",
        _ => "may edit files and run commands there",
    };
    let check = spec.check.as_deref().unwrap_or("none detected; set one with --check");
    output::lines(&[
        format!("{} run {id}", spec.mode.name()),
        format!("  folder  {folder}"),
        format!("  agent   {} {allowed}", spec.agent),
        format!("  check   {check}"),
    ]);
}

/// Starts a background process for the run, and waits until it holds the run.
fn detach(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    format: Format,
) -> Result<Exit, Refusal> {
    let io = |error: std::io::Error| {
        Refusal::new(RefusalCode::Io, format!("cannot run in the background: {error}"))
    };
    let missing = || Refusal::invalid_input(format!("run {id} is gone"));
    let folder = store.run(id)?.ok_or_else(missing)?;
    let omx = std::env::current_exe().map_err(io)?;
    let log = folder.path().join("output").join("drive.log");
    let file = std::fs::File::create(&log).map_err(io)?;
    let mut command = detached_command(&omx);
    command.args(["runs", "drive", id.as_str()]);
    command.envs(children::variables(context, store, Some(id))?);
    command.stdin(Stdio::null()).stdout(file.try_clone().map_err(io)?).stderr(file);
    let mut child = command.spawn().map_err(io)?;
    // Wait, so that whoever looks at the run next finds it live or ended.
    let deadline = Instant::now() + TAKE_OVER;
    while folder.liveness()? == Liveness::Ended {
        if child.try_wait().map_err(io)?.is_some() {
            break;
        }
        if Instant::now() > deadline {
            let message = format!("the run did not start in the background; see {}", log.display());
            return Err(Refusal::new(RefusalCode::Busy, message));
        }
        std::thread::sleep(POLL);
    }
    if format == Format::Text {
        let program = context.dialect.name;
        output::lines(&[
            format!("follow it: {program} runs attach {id}"),
            format!("cancel it: {program} cancel --session-id {id}"),
        ]);
    }
    Ok(Exit::Done)
}

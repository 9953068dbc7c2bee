//! Starts a run: checks the request, creates the workspace and the folder, then hands
//! the run to a process that drives it.

use std::path::PathBuf;

use omx_kernel::approval::AllowLevel;
use omx_kernel::price::check_money_budget;
use omx_kernel::{
    AgentKind, ForeignText, GuardedAct, Mode, Refusal, RunId, Timestamp, Value, ids::slug,
};
use omx_runs::repository::SNAPSHOT_FILE;
use omx_runs::workspace::{self, WorkspaceChoice};
use omx_runs::{Budget, PipelineStage, RunSpec, VerificationLevel, Workspace};
use omx_store::runs::{HeldRun, LockHolder, RegisteredRun, RunRegistry};
use omx_store::{ArtifactFolder, Store};
use serde_json::json;

use super::budget::{configured_limits, configured_prices, with_configured};
use super::gc::collect_daily;
use super::goal::CheckGoal;
use super::ownership::record_start;
use super::select::refuse_to_agents;
use crate::config::{self, Config};
use crate::context::Context;
use crate::report;

/// The modes that omx drives itself.
pub const DRIVEN_MODES: [Mode; 6] =
    [Mode::Autopilot, Mode::Ralplan, Mode::Ralph, Mode::CodeReview, Mode::Ultraqa, Mode::Pipeline];

/// A request to start a run. Absent options come from the configuration, detection or defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRequest {
    /// The project's folder; defaults to the caller's.
    pub project: Option<PathBuf>,
    /// The mode.
    pub mode: Mode,
    /// The task, in the person's words.
    pub task: Option<String>,
    /// The agent.
    pub agent: Option<AgentKind>,
    /// The model for every role.
    pub model: Option<String>,
    /// What agents may do without permission.
    pub allow: Option<AllowLevel>,
    /// What must hold when the run is complete.
    pub goal: CheckGoal,
    /// The project's check command.
    pub check: Option<String>,
    /// How results are verified.
    pub verification: Option<VerificationLevel>,
    /// The iteration limit.
    pub max_iterations: Option<u64>,
    /// What the run may use.
    pub budget: Budget,
    /// Where it works.
    pub workspace: WorkspaceChoice,
    /// The stages of a pipeline.
    pub stages: Vec<PipelineStage>,
    /// The commit that a review compares with.
    pub base: Option<String>,
    /// The rehearsal agent's scenario.
    pub scenario: Option<PathBuf>,
}

impl RunRequest {
    /// A request with the mode and defaults.
    pub fn new(mode: Mode) -> Self {
        Self {
            project: None,
            mode,
            task: None,
            agent: None,
            model: None,
            allow: None,
            goal: CheckGoal::default(),
            check: None,
            verification: None,
            max_iterations: None,
            budget: Budget::default(),
            workspace: WorkspaceChoice::Worktree,
            stages: Vec::new(),
            base: None,
            scenario: None,
        }
    }
}

/// A new run that nobody drives yet. This process holds its lock.
#[derive(Debug)]
pub struct NewRun {
    /// What it was asked to do.
    pub spec: RunSpec,
    /// Its folder and lock.
    pub held: HeldRun,
    /// Warnings for the person.
    pub warnings: Vec<String>,
}

/// A run that was started.
#[derive(Debug)]
pub struct RunStartReport {
    /// The run.
    pub id: RunId,
    /// What it was asked to do.
    pub spec: RunSpec,
    /// Warnings for the person.
    pub warnings: Vec<String>,
}

impl RunStartReport {
    /// The report for programs.
    pub fn value(&self) -> Value {
        let spec = &self.spec;
        let mut object = json!({
            "event": "run", "id": self.id.as_str(), "mode": spec.mode.name(), "task": spec.task,
            "agent": spec.agent, "allow": spec.allow, "check": spec.check,
            "folder": spec.workspace.folder().display().to_string(),
        });
        if !self.warnings.is_empty() {
            object["warnings"] = json!(self.warnings);
        }
        report::from_json(&object)
    }
}

/// Starts a run in a separate process.
pub fn run_start(context: &Context<'_>, request: RunRequest) -> Result<RunStartReport, Refusal> {
    let store = context.store_for(request.project.as_deref())?;
    let NewRun { spec, held, mut warnings } = open_run(context, request)?;
    let id = held.id().clone();
    warnings.extend(register_run(context, &store, &spec, &held));
    // Releases the lock for the other process.
    drop(held);
    context.caller.before_wait();
    context.runs.drive_detached(context, &store, &id, &[])?;
    Ok(RunStartReport { id, spec, warnings })
}

/// Creates a run that the caller drives.
pub fn open_run(context: &Context<'_>, request: RunRequest) -> Result<NewRun, Refusal> {
    context.check_act(GuardedAct::OfPerson("start a run"))?;
    let store = context.store_for(request.project.as_deref())?;
    refuse_to_agents(context, &store, "start")?;
    let config = config::load_trusted(context, &store)?;
    let now = context.now();
    let id = new_id(now);
    let choice = match request.mode {
        Mode::CodeReview => WorkspaceChoice::ReadOnly,
        _ => request.workspace,
    };
    // Create the workspace last, so that a refusal leaves nothing behind.
    let placeholder = Workspace::InPlace { path: store.root().to_owned() };
    let mut spec = check(context, &store, &config, request, placeholder, &id, now)?;
    let environment = context.git_environment(&store);
    let env = context.project_env(&store, &environment);
    let prepared = workspace::prepare(&env, &id, choice)?;
    spec.workspace = prepared.workspace;
    let locked = context.lock(&store, "run")?;
    let name = spec.context_name();
    locked.write_artifact(ArtifactFolder::Context, &name, "md", &snapshot(&spec, &id))?;
    if matches!(spec.workspace, Workspace::Worktree { .. }) {
        locked.make_run_worktrees()?;
    }
    let held = locked.create_run(&id, &spec.stored(), &LockHolder::this_process())?;
    drop(locked);
    if let Some(snapshot) = &prepared.repository {
        held.write_part(SNAPSHOT_FILE, snapshot)?;
    }
    let mut warnings = prepared.warnings;
    warnings.extend(record_start(context, held.folder()));
    warnings.extend(collect_daily(context, &store));
    Ok(NewRun { spec, held, warnings })
}

/// Checks a request and completes it from the configuration.
fn check(
    context: &Context<'_>,
    store: &Store,
    config: &Config,
    request: RunRequest,
    workspace: Workspace,
    id: &RunId,
    now: Timestamp,
) -> Result<RunSpec, Refusal> {
    if !DRIVEN_MODES.contains(&request.mode) {
        let names: Vec<&str> = DRIVEN_MODES.iter().map(|mode| mode.name()).collect();
        return Err(Refusal::invalid_input(format!(
            "{} runs cannot be started; modes that can: {}",
            request.mode.name(),
            names.join(", ")
        )));
    }
    let task = request.task.filter(|task| !task.trim().is_empty());
    let mut task =
        task.ok_or_else(|| Refusal::invalid_input("no task given; name one, or resume a run"))?;
    if request.mode == Mode::CodeReview {
        task.push_str(&reviewed_change(request.base.as_deref()));
    }
    let setting =
        |key: &str| config.get(key).and_then(|setting| setting.value.as_str()).map(str::to_owned);
    let named = match (request.agent, setting("agent")) {
        (Some(agent), _) => Some(agent),
        (None, Some(name)) => Some(AgentKind::parse(&name).ok_or_else(|| {
            Refusal::invalid_input(format!("unknown agent {name:?} in the configuration"))
        })?),
        (None, None) => None,
    };
    let scenario = request.scenario.map(|file| {
        let file = context.place.working_directory.join(file);
        std::path::absolute(&file).unwrap_or(file)
    });
    let agent = context.runs.find_agent(context, store, named, scenario.as_deref())?;
    if agent == AgentKind::Rehearsal && scenario.is_none() {
        return Err(Refusal::invalid_input("the rehearsal agent needs a scenario; name its file"));
    }
    if request.mode == Mode::Ralph && request.verification == Some(VerificationLevel::Light) {
        return Err(Refusal::invalid_input(
            "ralph needs at least a verifier: set verify to standard or thorough",
        ));
    }
    let budget = with_configured(request.budget, config)?;
    let prices = configured_prices(config)?;
    if budget.micro_usd.is_some() {
        let tier = |tier: &str| setting(&format!("tiers.{}.{tier}", agent.as_str()));
        let tiers = ["low", "medium", "high"].map(tier);
        let models: Vec<Option<&str>> = match &request.model {
            Some(model) => vec![Some(model)],
            None => tiers.iter().map(Option::as_deref).collect(),
        };
        check_money_budget(agent, &models, &prices, context.dialect)?;
    }
    let allow = request.allow.map(|allow| allow.as_str().to_owned()).or_else(|| setting("allow"));
    Ok(RunSpec {
        mode: request.mode,
        // Two runs of the same task write different files.
        slug: format!("{}-{id}", slug(&task)),
        task: task.into(),
        started_at: now.to_string(),
        agent: agent.as_str().to_owned(),
        model: request.model,
        allow: allow.unwrap_or_else(|| AllowLevel::Commands.as_str().to_owned()),
        check: request
            .goal
            .command(request.check, setting("check"), store.root())
            .map(ForeignText::from),
        verification: request.verification.unwrap_or(VerificationLevel::Thorough),
        max_iterations: request.max_iterations,
        budget,
        prices,
        limits: configured_limits(config),
        workspace,
        stages: request.stages,
        scenario,
    })
}

/// Describes the change under review, for the reviewers.
fn reviewed_change(base: Option<&str>) -> String {
    match base {
        Some(base) => {
            format!("\n\nThe change is the output of `git diff {base}`, plus untracked files.")
        }
        None => "\n\nThe change is what is not committed yet (`git diff HEAD`, plus untracked \
                 files) or, if there is nothing, the last commit (`git show HEAD`)."
            .to_owned(),
    }
}

/// Adds a run to the registry of live runs. The entry lapses with the run's lock.
/// Returns a warning on failure.
pub fn register_run(
    context: &Context<'_>,
    store: &Store,
    spec: &RunSpec,
    held: &HeldRun,
) -> Option<String> {
    let folder = context.runs.registry_folder(context.dialect)?;
    let entry = RegisteredRun {
        run: held.id().clone(),
        root: store.root().to_owned(),
        tree: store.tree().to_owned(),
        mode: spec.mode.name().into(),
        task: spec.task.clone(),
        pid: std::process::id(),
        started: context.now(),
        holder: Some(LockHolder::this_process()),
    };
    // A missing registry entry is no reason not to start the run.
    let error = RunRegistry::new(folder).add(held, &entry).err()?;
    Some(format!("the list of live runs will not show this run: {error}"))
}

fn new_id(now: Timestamp) -> RunId {
    let mut random = [0; 10];
    random.copy_from_slice(&uuid::Uuid::new_v4().as_bytes()[..10]);
    RunId::from_parts(now, random)
}

/// The context snapshot of a run, for people.
fn snapshot(spec: &RunSpec, id: &RunId) -> String {
    let check = spec.check.as_ref().map_or("none", ForeignText::raw);
    format!(
        "# {}\n\nrun: {id}\nmode: {}\nstarted: {}\nagent: {}\nallowed: {}\ncheck: {check}\n\
         folder: {}\n\n## Task\n\n{}\n",
        spec.slug,
        spec.mode.name(),
        spec.started_at,
        spec.agent,
        spec.allow,
        spec.workspace.folder().display(),
        spec.task.raw().trim(),
    )
}

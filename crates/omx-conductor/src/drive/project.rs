//! The production world: the project's files, agents' processes and threads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use omx_agents::agent::{Agent, AgentCommand};
use omx_agents::event::ApprovalRequest;
use omx_agents::failure::Failure;
use omx_agents::json::approval_object;
use omx_agents::{AgentEnv, AgentInstallation, AgentKind, AgentLimits, Conversation};
use omx_kernel::{Mode, Refusal, SessionId, Timestamp};
use omx_ops::Context;
use omx_runs::progress::{EVENTS_FILE, Progress};
use omx_runs::{
    CheckoutWatch, LimitRequestId, Record, RunRepository, RunSpec, StepKey, Workspace, attention,
    limits,
};
use omx_store::Store;
use omx_store::runs::HeldRun;

use super::control::{ControlSource, RunHandle};
use super::event_log::EventLog;
use super::mailbox::Mailbox;
use super::world::{ControlEvent, ObservedDocument, World, WorldEvent};
use crate::engine::{
    DocumentFailure, Job, JobFailure, StepConversation, describe_approval_request,
};
use crate::sandbox::RunSandbox;
use crate::workflow::DocumentChange;

/// A role, reduced to what the conductor needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleCard {
    /// The role's prompt.
    pub prompt: String,
    /// The model of the role's tier, if configured.
    pub model: Option<String>,
}

/// The environment of a run: store, roles, agents and limits.
pub struct RunEnv<'a> {
    /// The context for writing documents.
    pub context: &'a Context<'a>,
    /// The project.
    pub store: &'a Store,
    /// The roles by name.
    pub roles: BTreeMap<String, RoleCard>,
    /// The agents' programs.
    pub installations: BTreeMap<AgentKind, AgentInstallation>,
    /// The environment of agents.
    pub agents: AgentEnv,
    /// The deadlines of agents.
    pub limits: AgentLimits,
    /// What agents and the check may change and read.
    pub sandbox: RunSandbox,
}

/// The world of a run that works in a project.
pub struct ProjectWorld<'a, Show> {
    pub(super) env: &'a RunEnv<'a>,
    pub(super) spec: RunSpec,
    pub(super) session: SessionId,
    pub(super) held: HeldRun,
    /// git in the workspace; `None` outside git.
    pub(super) repository: Option<RunRepository>,
    pub(super) mailbox: Mailbox,
    pub(super) agents: BTreeMap<StepKey, Conversation>,
    /// The person's checkout, where nothing keeps agents from it.
    pub(super) watch: Option<Arc<CheckoutWatch>>,
    /// Flags that stop the running jobs.
    pub(super) jobs: BTreeMap<StepKey, Arc<AtomicBool>>,
    events: EventLog,
    show: Show,
    control: ControlSource,
}

impl<'a, Show: FnMut(&Progress)> ProjectWorld<'a, Show> {
    /// The world of a run that this process holds.
    pub fn new(
        env: &'a RunEnv<'a>,
        spec: RunSpec,
        held: HeldRun,
        show: Show,
    ) -> Result<Self, Refusal> {
        let session = SessionId::new(held.id().as_str())?;
        let folder = held.folder();
        // The questions of an earlier process are obsolete: its agents are gone.
        attention::clear(folder);
        let environment = env.context.git_environment(env.store);
        let project = env.context.project_env(env.store, &environment);
        let repository = RunRepository::open(&project, held.id(), held.folder(), &spec.workspace)?;
        let watch = super::watch::start(env, &spec, &project, held.folder())?;
        let gone = || Refusal::invalid_input(format!("run {} is gone", held.id()));
        let watched = env.store.run(held.id())?.ok_or_else(gone)?;
        let mailbox = Mailbox::default();
        let control = ControlSource::start(
            mailbox.clone(),
            env.store.clone(),
            session.clone(),
            spec.mode,
            watched,
            spec.workspace.folder().to_owned(),
        )?;
        Ok(Self {
            env,
            spec,
            session,
            held,
            repository,
            watch,
            mailbox,
            agents: BTreeMap::new(),
            jobs: BTreeMap::new(),
            events: EventLog::default(),
            show,
            control,
        })
    }

    /// The folder that agents may change: the whole worktree, even if the project is a
    /// folder inside its repository.
    pub(super) fn top(&self) -> PathBuf {
        match &self.spec.workspace {
            Workspace::Worktree { .. } => self.env.store.run_worktree(self.held.id()),
            Workspace::InPlace { path } => path.clone(),
        }
    }

    /// Returns a handle that stops the run.
    pub fn handle(&self) -> RunHandle {
        self.control.handle()
    }

    /// Appends progress to the run's event file. The file is for display only, so it
    /// is not flushed, and a full disk does not stop the run.
    fn log(&mut self, progress: &Progress) {
        let lines = self.events.lines(progress, self.now());
        if !lines.is_empty() {
            let _ = self.held.folder().append(EVENTS_FILE, &lines);
        }
    }
}

impl<Show: FnMut(&Progress)> World for ProjectWorld<'_, Show> {
    fn now(&self) -> Timestamp {
        self.env.context.clock.now()
    }

    fn append(&mut self, record: &Record) -> Result<(), String> {
        let now = self.now();
        self.held.journal().append(now, record).map_err(|error| error.to_string())?;
        if let Some(repository) = &self.repository {
            repository.recorded(record);
        }
        Ok(())
    }

    fn active_documents(&mut self) -> Result<Vec<Mode>, DocumentFailure> {
        self.find_active_documents()
    }

    fn write_document(&mut self, change: &DocumentChange) -> Result<(), DocumentFailure> {
        self.write_change(change)
    }

    fn cancel_documents(&mut self) -> Result<(), DocumentFailure> {
        self.cancel_active_documents()
    }

    fn observe_document(&mut self) -> ObservedDocument {
        super::documents::read_status(self.env.store, &self.session, self.spec.mode)
    }

    fn open_agent(&mut self, step: &StepKey, spec: &StepConversation) -> Result<(), Failure> {
        let agent = self.open_conversation(step, spec)?;
        self.agents.insert(step.clone(), agent);
        Ok(())
    }

    fn command(&mut self, step: &StepKey, command: AgentCommand) {
        if let Some(agent) = self.agents.get(step) {
            agent.command(command);
        }
    }

    fn release_agent(&mut self, step: &StepKey) {
        self.agents.remove(step);
        if let (Some(repository), true) = (&self.repository, self.agents.is_empty()) {
            match repository.take_back() {
                Ok(None) => {}
                Ok(Some(note)) => self.show(&Progress::Note(format!("{step}: {note}").into())),
                Err(error) => self.show(&Progress::Note(format!("{step}: {error}").into())),
            }
        }
    }

    fn start_job(&mut self, step: &StepKey, job: Job) -> Result<(), JobFailure> {
        self.spawn_job(step, job)
    }

    fn stop_job(&mut self, step: &StepKey) {
        if let Some(stop) = self.jobs.get(step) {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    fn release_job(&mut self, step: &StepKey) {
        self.jobs.remove(step);
    }

    fn request_approval(
        &mut self,
        number: u64,
        step: &StepKey,
        ask: &ApprovalRequest,
    ) -> Result<(), String> {
        let folder = self.held.folder();
        attention::open_question(
            folder,
            number,
            step,
            &describe_approval_request(ask),
            &approval_object(ask),
        )
        .map_err(|error| error.to_string())
    }

    fn close_question(&mut self, number: u64) {
        attention::close(self.held.folder(), number);
    }

    fn close_limit_request(&mut self, id: &LimitRequestId) {
        limits::close(self.held.folder(), id);
    }

    fn show(&mut self, progress: &Progress) {
        self.log(progress);
        (self.show)(progress);
    }

    fn control(&mut self) -> Option<ControlEvent> {
        self.mailbox.control()
    }

    fn wait(&mut self, until: Option<Timestamp>) -> Option<WorldEvent> {
        let millis = |until: Timestamp| u64::try_from(until.millis_since(self.now()));
        let patience = until.map(|until| Duration::from_millis(millis(until).unwrap_or_default()));
        self.mailbox.wait(patience)
    }
}

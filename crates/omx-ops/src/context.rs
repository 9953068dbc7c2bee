//! The context that the edge gives to every operation: place, clock, caller, dialect.

use std::path::{Path, PathBuf};
use std::time::Duration;

use omx_kernel::agent_acts::{GuardedAct, check_act};
use omx_kernel::environment::passed_names;
use omx_kernel::{Dialect, Refusal, RefusalCode, Scope, SessionId, Timestamp};
use omx_runs::{GitEnvironment, ProjectEnv};
use omx_store::identity::{self, HostSessions};
use omx_store::{
    LockedStore, ProjectSearch, RuntimeFolders, Store, StoreError, find_project, find_skipped,
};

use crate::caller::{Caller, UncancelledCaller};
use crate::clock::Clock;
use crate::config::{self, ConfigSources};
use crate::runs::{NoLauncher, RunLauncher};

/// How long a command waits for the project's lock.
pub const LOCK_DEADLINE: Duration = Duration::from_secs(5);

/// Where the program was started, read once at the edge.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The working directory.
    pub working_directory: PathBuf,
    /// The person's home directory, without links in its path.
    pub home: Option<PathBuf>,
    /// A project root given by flag or environment.
    pub root: Option<PathBuf>,
    /// A folder outside the projects that holds the state of all of them.
    pub state_dir: Option<PathBuf>,
    /// Private folders of the person for what a project's own folder cannot hold, the
    /// best first. They need not exist.
    pub runtime: RuntimeFolders,
}

/// The caller's session, as far as the environment reveals it.
#[derive(Clone, Debug, Default)]
pub enum Ambient {
    /// No session.
    #[default]
    None,
    /// This session.
    Session(SessionId),
    /// The session of the nearest host process. These are the records of the caller's
    /// ancestors, nearest first. Looked up on every use, because a host opens and
    /// closes conversations.
    Processes(Vec<PathBuf>),
    /// Not a valid session id. Only operations that need a session fail.
    Unusable(Refusal),
}

/// The context of an operation.
#[derive(Clone)]
pub struct Context<'a> {
    /// Where the program was started.
    pub place: Place,
    /// The clock.
    pub clock: &'a dyn Clock,
    /// The names of programs, files and folders.
    pub dialect: Dialect,
    /// The caller's session.
    pub ambient: Ambient,
    /// The entry point, such as the command line or MCP, for the log.
    pub actor: &'static str,
    /// How long to wait for the project's lock.
    pub lock_deadline: Duration,
    /// Where the edge found configuration.
    pub config: ConfigSources,
    /// Who waits for the result.
    pub caller: &'a dyn Caller,
    /// What run operations need from the program around them.
    pub runs: &'a dyn RunLauncher,
}

impl<'a> Context<'a> {
    /// Works in this project for a program that has no session and starts no runs.
    pub fn in_project(root: PathBuf, clock: &'a dyn Clock, actor: &'static str) -> Self {
        Self {
            place: Place { working_directory: root.clone(), root: Some(root), ..Place::default() },
            clock,
            dialect: Dialect::OMX,
            ambient: Ambient::None,
            actor,
            lock_deadline: LOCK_DEADLINE,
            config: ConfigSources::default(),
            caller: &UncancelledCaller,
            runs: &NoLauncher,
        }
    }
}

impl Context<'_> {
    /// Where it is recorded which configurations the person trusts; none without a home.
    /// Looked up only when it is needed, because hooks rarely do.
    pub(crate) fn trust_folder(&self) -> Option<PathBuf> {
        Some(self.runs.registry_folder(self.dialect)?.with_file_name("trust"))
    }

    /// The store of the caller's project.
    pub fn store(&self) -> Result<Store, Refusal> {
        self.store_for(None)
    }

    /// The store of the project in this folder; defaults to the caller's project. An agent
    /// cannot name another project than its own.
    pub fn store_for(&self, project: Option<&Path>) -> Result<Store, Refusal> {
        let store = self.find_store(project)?;
        if project.is_some() || self.place.root.is_some() {
            self.check_act(GuardedAct::InProject(store.root()))?;
        }
        Ok(store)
    }

    /// The folders of omx above the working directory that are not the person's.
    pub fn skipped_trees(&self) -> Vec<PathBuf> {
        find_skipped(ProjectSearch {
            working_directory: &self.place.working_directory,
            home: self.place.home.as_deref(),
            root: self.place.root.as_deref(),
            state_dir: self.place.state_dir.as_deref(),
            dialect: self.dialect,
        })
    }

    fn find_store(&self, project: Option<&Path>) -> Result<Store, Refusal> {
        let root = project.or(self.place.root.as_deref());
        let project = find_project(ProjectSearch {
            working_directory: &self.place.working_directory,
            home: self.place.home.as_deref(),
            root,
            state_dir: self.place.state_dir.as_deref(),
            dialect: self.dialect,
        })?;
        Ok(Store::new(project).with_runtime_folders(self.place.runtime.clone()))
    }

    /// The scope of this session; defaults to the caller's scope.
    pub fn scope(&self, session: Option<&SessionId>) -> Result<Scope, Refusal> {
        match session {
            Some(session) => Ok(Scope::Session(session.clone())),
            None => self.ambient_scope(),
        }
    }

    /// The caller's own scope.
    pub fn ambient_scope(&self) -> Result<Scope, Refusal> {
        match &self.ambient {
            Ambient::None => Ok(Scope::Compatibility),
            Ambient::Session(session) => Ok(Scope::Session(session.clone())),
            Ambient::Processes(records) => Ok(Scope::from(session_of(records))),
            Ambient::Unusable(refusal) => Err(refusal.clone()),
        }
    }

    /// Whether a session is the caller's own, or one of the conversations of its host.
    pub fn is_own_session(&self, session: &SessionId) -> bool {
        match &self.ambient {
            Ambient::None | Ambient::Unusable(_) => false,
            Ambient::Session(own) => own == session,
            Ambient::Processes(records) => {
                records.iter().any(|folder| identity::has_session(folder, session))
            }
        }
    }

    /// The caller's environment, reduced to what git and its hooks may see: the common
    /// variables, and those that the person's configuration passes on.
    pub fn git_environment(&self, store: &Store) -> GitEnvironment {
        GitEnvironment::reduced(self.runs.environment(), &self.passed_variables(store))
    }

    /// The names of the variables that the person's configuration passes on to every
    /// program. A configuration that cannot be read passes on none.
    pub fn passed_variables(&self, store: &Store) -> Vec<String> {
        let config = config::load(self, store).ok();
        let value = config
            .and_then(|config| config.get("environment.pass")?.value.as_str().map(str::to_owned));
        passed_names(value.as_deref().unwrap_or_default())
    }

    /// The environment for operations on the project's runs.
    pub fn project_env<'b>(
        &self,
        store: &'b Store,
        environment: &'b GitEnvironment,
    ) -> ProjectEnv<'b> {
        ProjectEnv {
            store,
            dialect: self.dialect,
            environment,
            lock_deadline: self.lock_deadline,
            now: self.clock.now(),
        }
    }

    /// Refuses what the agent that the caller works for may not do.
    pub fn check_act(&self, act: GuardedAct<'_>) -> Result<(), Refusal> {
        check_act(self.runs.calling_agent().as_ref(), act)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn lock(&self, store: &Store, purpose: &str) -> Result<LockedStore, Refusal> {
        let purpose = format!("{} {purpose}", self.dialect.name);
        match store.lock(Duration::ZERO, &purpose) {
            Err(StoreError::Busy { .. }) => {}
            locked => return Ok(locked?),
        }
        self.caller.before_wait();
        let locked = store.lock(self.lock_deadline, &purpose)?;
        if self.caller.is_cancelled() {
            let why = "the call was cancelled while it waited for the project's lock";
            return Err(Refusal::new(RefusalCode::Busy, why));
        }
        Ok(locked)
    }
}

/// The conversation of the nearest process with a record; `None` if that process holds several.
fn session_of(records: &[PathBuf]) -> Option<SessionId> {
    records.iter().find_map(|folder| match identity::sessions(folder) {
        HostSessions::Unknown => None,
        HostSessions::One(session) => Some(Some(session)),
        HostSessions::Unclear => Some(None),
    })?
}

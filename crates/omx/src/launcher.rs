//! Finds agents and starts detached processes for the operations on runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use omx_conductor::start::ResumedBy;
use omx_kernel::{AgentKind, CallingAgent, Dialect, Refusal, RefusalCode, RunId};
use omx_ops::{Context, RunLauncher};
use omx_process::platform::detached_command;
use omx_store::Store;
use omx_store::runs::{Liveness, StepLogName};

use crate::children;
use crate::commands::{find_agent, open_again};
use crate::edge;

/// How long a detached process has to take the run.
const TAKE_OVER: Duration = Duration::from_secs(20);
/// The poll interval meanwhile.
const POLL: Duration = Duration::from_millis(10);

/// The launcher of this program.
pub enum ProcessLauncher {
    /// For whoever started this process.
    OwnCaller,
    /// For an agent that calls through the relay: this process works for the person, but
    /// on behalf of the agent.
    Agent(Box<CallingAgent>),
}

impl RunLauncher for ProcessLauncher {
    fn calling_agent(&self) -> Option<CallingAgent> {
        match self {
            Self::OwnCaller => edge::calling_agent(),
            Self::Agent(agent) => Some(CallingAgent::clone(agent)),
        }
    }

    fn is_in_conversation(&self, dialect: Dialect) -> bool {
        match self {
            Self::OwnCaller => edge::is_in_conversation(dialect),
            Self::Agent(_) => true,
        }
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        edge::environment()
    }

    fn registry_folder(&self, dialect: Dialect) -> Option<PathBuf> {
        edge::registry_folder(dialect)
    }

    fn find_agent(
        &self,
        context: &Context<'_>,
        store: &Store,
        named: Option<AgentKind>,
        scenario: Option<&Path>,
    ) -> Result<AgentKind, Refusal> {
        let env = edge::agent_env(context, store, scenario.map(Path::to_owned), None, None)?;
        find_agent(named, &env).map(|installation| installation.kind)
    }

    fn drive_detached(
        &self,
        context: &Context<'_>,
        store: &Store,
        id: &RunId,
        decisions: &[String],
    ) -> Result<(), Refusal> {
        let io = |error: std::io::Error| {
            Refusal::new(RefusalCode::Io, format!("cannot run in the background: {error}"))
        };
        // Refuse here what the other process would refuse in its log, where nobody looks.
        drop(open_again(context, store, id, ResumedBy::Driver, decisions)?);
        let missing = || Refusal::invalid_input(format!("run {id} is gone"));
        let folder = store.run(id)?.ok_or_else(missing)?;
        let omx = std::env::current_exe().map_err(io)?;
        let log = folder.open_step_log(&StepLogName::new("drive"))?;
        let (log, file) = (log.path().to_owned(), log.into_file());
        let mut command = detached_command(&omx, &edge::search_path());
        command.args(["runs", "drive", id.as_str()]);
        command.args(decisions.iter().flat_map(|decision| ["--decide", decision]));
        // What the person set for this command holds for the run.
        command.args(context.config.flags.iter().flat_map(|flag| ["--config", flag]));
        command.current_dir(store.root());
        command.envs(children::variables(context, store, Some(id), None)?);
        command.stdin(Stdio::null()).stdout(file.try_clone().map_err(io)?).stderr(file);
        let mut child = command.spawn().map_err(io)?;
        // Wait, so that whoever looks at the run next finds it live or ended.
        let deadline = Instant::now() + TAKE_OVER;
        while folder.liveness()? == Liveness::Ended {
            if child.try_wait().map_err(io)?.is_some() {
                return Ok(());
            }
            if Instant::now() > deadline {
                let why = format!("the run did not start in the background; see {}", log.display());
                return Err(Refusal::new(RefusalCode::Busy, why));
            }
            std::thread::sleep(POLL);
        }
        // A server outlives the runs it starts, and must not keep them as zombies.
        let reap = move || drop(child.wait());
        let _ = std::thread::Builder::new().name("reap".to_owned()).spawn(reap);
        Ok(())
    }
}

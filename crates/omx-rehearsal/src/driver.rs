//! The driver of the rehearsal agent, which is this program itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::memory::find_message;
use crate::protocol::RehearsalProtocol;
use crate::scenario;
use crate::wire;
use omx_agents::agent::{ConversationId, ConversationSpec, ConversationStart};
use omx_agents::conversation_record::ConversationRecord;
use omx_agents::driver::{AgentEnv, AgentInstallation, AgentKind, Driver};
use omx_agents::environment::agent_environment;
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::limits::AgentLimits;
use omx_agents::protocol::{Confinement, Launch, Protocol};

/// Drives the rehearsal agent.
#[derive(Debug)]
pub struct Rehearsal;

/// Returns the driver of any agent, this one included.
pub fn driver(kind: AgentKind) -> &'static dyn Driver {
    omx_agents::driver(kind).unwrap_or(&Rehearsal)
}

/// The hidden command that runs the player.
const COMMAND: &str = "rehearsal-agent";

impl Driver for Rehearsal {
    fn kind(&self) -> AgentKind {
        AgentKind::Rehearsal
    }

    fn find(&self, env: &AgentEnv) -> Result<AgentInstallation, Failure> {
        scenario::load(scenario_path(env)?)
            .map_err(|error| failure(FailureCause::Scenario { detail: error.to_string() }))?;
        Ok(AgentInstallation { kind: self.kind(), program: env.omx.clone() })
    }

    fn state_folders(&self, env: &AgentEnv) -> Vec<PathBuf> {
        vec![env.rehearsal_folder.clone()]
    }

    fn find_message(
        &self,
        env: &AgentEnv,
        conversation: &ConversationId,
        message: &str,
    ) -> ConversationRecord {
        find_message(&env.rehearsal_folder, conversation, message)
    }

    fn protocol(
        &self,
        spec: &ConversationSpec,
        installation: &AgentInstallation,
        env: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        let args = [
            OsString::from(COMMAND),
            "--scenario".into(),
            scenario_path(env)?.into(),
            "--folder".into(),
            env.rehearsal_folder.clone().into(),
        ];
        let mark = uuid::Uuid::new_v4().to_string();
        let launch = Launch {
            program: installation.program.clone(),
            args: args.into(),
            environment: agent_environment(env, &[], &[], &mark),
            folder: spec.folder.clone(),
            confinement: Confinement::Unconfined,
        };
        Ok(Box::new(RehearsalProtocol::new(launch, open_params(spec)?, limits.request)))
    }
}

fn scenario_path(env: &AgentEnv) -> Result<&Path, Failure> {
    let invalid = |detail: String| failure(FailureCause::Scenario { detail });
    let Some(scenario) = env.scenario.as_deref() else {
        return Err(invalid("the rehearsal agent needs a scenario to play".to_owned()));
    };
    // The agent runs in a different folder than omx.
    match [scenario, &env.rehearsal_folder].into_iter().find(|path| path.is_relative()) {
        Some(path) => Err(invalid(format!("{} must be an absolute path", path.display()))),
        None => Ok(scenario),
    }
}

fn open_params(spec: &ConversationSpec) -> Result<wire::OpenParams, Failure> {
    let servers = spec.servers.iter().map(|server| wire::ServerSpec {
        name: server.name.clone(),
        program: server.program.clone(),
        args: server.args.clone(),
        env: server.env.clone(),
    });
    let servers: Vec<_> = servers.collect();
    let paths = servers.iter().map(|server| &server.program).chain([&spec.folder]);
    // They travel as JSON, which is Unicode.
    if let Some(path) = paths.into_iter().find(|path| path.to_str().is_none()) {
        let detail = format!("{} is not UTF-8", path.display());
        return Err(failure(FailureCause::CannotStart { detail }));
    }
    Ok(wire::OpenParams {
        conversation: match &spec.start {
            ConversationStart::New => None,
            ConversationStart::Resume(id) => Some(id.as_str().to_owned()),
        },
        folder: spec.folder.clone(),
        role: spec.role.clone(),
        model: spec.model.clone(),
        allow: spec.allow.as_str().to_owned(),
        servers,
    })
}

fn failure(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Rehearsal, cause)
}

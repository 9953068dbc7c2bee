//! The driver of the rehearsal agent, which is this program itself.

use std::ffi::OsString;
use std::path::Path;

use crate::protocol::Talk;
use crate::scenario;
use crate::wire;
use omx_agents::agent::{ConversationSpec, ConversationStart};
use omx_agents::driver::{AgentEnv, AgentKind, Driver, Installation};
use omx_agents::environment::agent_environment;
use omx_agents::failure::{Failure, FailureCause};
use omx_agents::limits::AgentLimits;
use omx_agents::protocol::{Launch, Protocol};

/// Drives the rehearsal agent.
#[derive(Debug)]
pub struct Rehearsal;

/// Returns the driver of any agent, this one included.
pub fn driver(kind: AgentKind) -> &'static dyn Driver {
    omx_agents::driver(kind).unwrap_or(&Rehearsal)
}

/// The hidden command that plays.
const COMMAND: &str = "rehearsal-agent";

impl Driver for Rehearsal {
    fn kind(&self) -> AgentKind {
        AgentKind::Rehearsal
    }

    fn find(&self, surroundings: &AgentEnv) -> Result<Installation, Failure> {
        scenario::load(scenario_of(surroundings)?)
            .map_err(|fault| trouble(FailureCause::Scenario { detail: fault.to_string() }))?;
        Ok(Installation { kind: self.kind(), program: surroundings.omx.clone() })
    }

    fn protocol(
        &self,
        opening: &ConversationSpec,
        installation: &Installation,
        surroundings: &AgentEnv,
        limits: &AgentLimits,
    ) -> Result<Box<dyn Protocol>, Failure> {
        let args = [
            OsString::from(COMMAND),
            "--scenario".into(),
            scenario_of(surroundings)?.into(),
            "--folder".into(),
            surroundings.rehearsal_folder.clone().into(),
        ];
        let mark = uuid::Uuid::new_v4().to_string();
        let launch = Launch {
            program: installation.program.clone(),
            args: args.into(),
            environment: agent_environment(surroundings, &[], &[], &mark),
            folder: opening.folder.clone(),
        };
        Ok(Box::new(Talk::new(launch, open(opening)?, limits.request)))
    }
}

fn scenario_of(surroundings: &AgentEnv) -> Result<&Path, Failure> {
    let wrong = |detail: String| trouble(FailureCause::Scenario { detail });
    let Some(scenario) = surroundings.scenario.as_deref() else {
        return Err(wrong("the rehearsal agent needs a scenario to play".to_owned()));
    };
    // The agent runs in another folder than omx.
    match [scenario, &surroundings.rehearsal_folder].into_iter().find(|path| path.is_relative()) {
        Some(path) => Err(wrong(format!("{} must be an absolute path", path.display()))),
        None => Ok(scenario),
    }
}

fn open(opening: &ConversationSpec) -> Result<wire::Open, Failure> {
    let servers = opening.servers.iter().map(|server| wire::Server {
        name: server.name.clone(),
        program: server.program.clone(),
        args: server.args.clone(),
        env: server.env.clone(),
    });
    let servers: Vec<_> = servers.collect();
    let paths = servers.iter().map(|server| &server.program).chain([&opening.folder]);
    // They are told as JSON, which is Unicode.
    if let Some(odd) = paths.into_iter().find(|path| path.to_str().is_none()) {
        let detail = format!("{} is not UTF-8", odd.display());
        return Err(trouble(FailureCause::CannotStart { detail }));
    }
    Ok(wire::Open {
        conversation: match &opening.start {
            ConversationStart::New => None,
            ConversationStart::Resume(id) => Some(id.as_str().to_owned()),
        },
        folder: opening.folder.clone(),
        role: opening.role.clone(),
        model: opening.model.clone(),
        allow: opening.allow.as_str().to_owned(),
        servers,
    })
}

fn trouble(cause: FailureCause) -> Failure {
    Failure::new(AgentKind::Rehearsal, cause)
}

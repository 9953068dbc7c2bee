//! Chooses the agent: the named or configured one, or else the first that is
//! installed and logged in.

use omx_agents::{AgentEnv, AgentInstallation, AgentKind, Failure};
use omx_kernel::{Refusal, RefusalCode};
use omx_rehearsal::driver;

/// Finds the agent with this name, or else the first that is ready.
pub fn find_agent(
    named: Option<AgentKind>,
    agent_env: &AgentEnv,
) -> Result<AgentInstallation, Refusal> {
    if let Some(kind) = named {
        return driver(kind).find(agent_env).map_err(|failure| refusal(&failure));
    }
    let mut troubles = Vec::new();
    for kind in AgentKind::ALL.into_iter().filter(|kind| *kind != AgentKind::Rehearsal) {
        match driver(kind).find(agent_env) {
            Ok(installation) => return Ok(installation),
            Err(trouble) => troubles.push(trouble.to_string()),
        }
    }
    Err(Refusal::new(
        RefusalCode::InvalidInput,
        format!(
            "no agent is ready: {}; install or log in to one, or try the rehearsal agent",
            troubles.join("; ")
        ),
    ))
}

/// Turns a failure into a refusal, with its remedy.
pub(super) fn refusal(failure: &Failure) -> Refusal {
    let remedy = failure.remedy().map(|remedy| format!("; {remedy}")).unwrap_or_default();
    Refusal::new(RefusalCode::InvalidInput, format!("{failure}{remedy}"))
}

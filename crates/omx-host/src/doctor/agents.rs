//! Whether there is an agent that can work.

use omx_ops::config;

use super::finding::{Area, Finding};
use super::patient::{AgentSeen, AgentState, Patient};

const AREA: Area = Area::Agents;

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = patient.agents.iter().map(one).collect();
    let ready = |agent: &AgentSeen| matches!(agent.state, AgentState::Ready(_));
    if !patient.agents.iter().any(ready) {
        let what = "no agent can work";
        let fix = "install one of codex, claude and gemini, and log in";
        findings.push(Finding::failure(AREA, "no_agent", what, fix));
    }
    let wanted = config::load(patient.context, patient.store)
        .ok()
        .and_then(|config| config.get("agent")?.value.as_str().map(str::to_owned));
    if let Some(wanted) = wanted.filter(|wanted| wanted != "rehearsal") {
        let found = patient.agents.iter().find(|agent| agent.name == wanted);
        if !found.is_some_and(ready) {
            let what = format!("the configuration wants {wanted}, which cannot work here");
            let fix = format!("make {wanted} work, or change it: omx config set agent NAME");
            findings.push(Finding::failure(AREA, "configured_agent", what, fix));
        }
    }
    findings
}

fn one(agent: &AgentSeen) -> Finding {
    let name = &agent.name;
    match &agent.state {
        AgentState::Ready(version) => {
            Finding::fine(AREA, "agent", format!("{name} is ready, version {version}"))
        }
        AgentState::Missing(_) => Finding::fine(AREA, "agent", format!("{name} is not installed")),
        AgentState::Troubled(why, remedy) => {
            let fix = remedy.clone().unwrap_or_else(|| format!("see what {name} itself says"));
            Finding::warning(AREA, "agent", format!("{name}: {why}"), fix)
        }
    }
}

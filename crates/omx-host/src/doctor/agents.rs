//! Checks that at least one agent is ready.

use omx_ops::config;

use super::env::{AgentCheck, AgentReadiness, DoctorEnv};
use super::finding::{CheckArea, DoctorFinding};

const AREA: CheckArea = CheckArea::Agents;

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings: Vec<DoctorFinding> = env.agents.iter().map(check_agent).collect();
    let ready = |agent: &AgentCheck| matches!(agent.state, AgentReadiness::Ready(_));
    if !env.agents.iter().any(ready) {
        let what = "no agent is ready";
        let fix = "install codex, claude or gemini, and log in";
        findings.push(DoctorFinding::failure(AREA, "no_agent", what, fix));
    }
    let wanted = config::load(env.context, env.store)
        .ok()
        .and_then(|config| config.get("agent")?.value.as_str().map(str::to_owned));
    if let Some(wanted) = wanted.filter(|wanted| wanted != "rehearsal") {
        let found = env.agents.iter().find(|agent| agent.name == wanted);
        if !found.is_some_and(ready) {
            let what = format!("the configuration selects {wanted}, which is not ready");
            let program = env.program();
            let fix =
                format!("make {wanted} ready, or select another: {program} config set agent NAME");
            findings.push(DoctorFinding::failure(AREA, "configured_agent", what, fix));
        }
    }
    findings
}

fn check_agent(agent: &AgentCheck) -> DoctorFinding {
    let name = &agent.name;
    match &agent.state {
        AgentReadiness::Ready(version) => {
            DoctorFinding::fine(AREA, "agent", format!("{name} is ready, version {version}"))
        }
        AgentReadiness::Missing(_) => {
            DoctorFinding::fine(AREA, "agent", format!("{name} is not installed"))
        }
        AgentReadiness::Unusable(why, remedy) => {
            let fix = remedy.clone().unwrap_or_else(|| format!("run {name} to see what is wrong"));
            DoctorFinding::warning(AREA, "agent", format!("{name}: {why}"), fix)
        }
    }
}

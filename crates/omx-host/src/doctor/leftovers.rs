//! What ended runs left behind: documents that say they go on, and processes.

use omx_kernel::{Mode, Scope, SessionId};
use omx_store::runs::Liveness;

use super::finding::{Area, Finding};
use super::patient::Patient;
use super::processes;

const AREA: Area = Area::Leftovers;

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = dead_runs(patient);
    for orphan in processes::orphans(&patient.mark, patient.store) {
        let what = format!("process {} ({}) outlived its run", orphan.pid, orphan.name);
        let fix = format!("end it: kill {}", orphan.pid);
        findings.push(Finding::failure(AREA, "orphan", what, fix).at(&orphan.folder));
    }
    if findings.is_empty() {
        findings.push(Finding::fine(AREA, "leftovers", "no run left anything behind"));
    }
    findings
}

/// Runs that nobody drives and whose documents are active.
fn dead_runs(patient: &Patient<'_>) -> Vec<Finding> {
    let (Ok(runs), Ok(Some(state))) = (patient.store.runs(), patient.store.read()) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for run in runs.iter().filter(|run| run.liveness == Liveness::Ended) {
        let Ok(session) = SessionId::new(run.id.as_str()) else { continue };
        let Ok(read) = state.scope(&Scope::Session(session)) else { continue };
        let modes: Vec<&str> = read.snapshot.active_modes().map(Mode::name).collect();
        if modes.is_empty() {
            continue;
        }
        let id = run.id.as_str();
        let what = format!("run {id} was killed; {} is still active", modes.join(", "));
        let fix = format!("omx runs resume {id}, or omx cancel --session-id {id}");
        findings.push(Finding::failure(AREA, "dead_run", what, fix).at(&run.path));
    }
    findings
}

//! Checks what finished runs left behind: active documents, processes and worktrees.

use omx_kernel::{Mode, Scope, SessionId};
use omx_store::runs::Liveness;

use super::env::DoctorEnv;
use super::finding::{CheckArea, DoctorFinding};
use super::orphans;

const AREA: CheckArea = CheckArea::Leftovers;

pub(super) fn check(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let mut findings = dead_runs(env);
    for orphan in orphans::orphans(&env.mark, env.store) {
        let what = format!(
            "process {} ({}) is still running although its run has ended",
            orphan.pid, orphan.name
        );
        let fix = format!("end it: kill {}", orphan.pid);
        findings.push(DoctorFinding::failure(AREA, "orphan", what, fix).at(&orphan.folder));
    }
    findings.extend(lost_runs(env));
    if findings.is_empty() {
        findings.push(DoctorFinding::fine(AREA, "leftovers", "no run left anything behind"));
    }
    findings
}

/// Worktrees and branches of runs that do not exist: their start was killed.
fn lost_runs(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let lost = omx_ops::lost_runs(env.context, env.store).unwrap_or_default();
    lost.into_iter()
        .map(|id| {
            let worktree = env.store.run_worktree(&id);
            let program = env.program();
            let fix = format!("{program} runs gc removes it if nothing in it is lost");
            if worktree.is_dir() {
                let what = format!("the worktree of run {id} is left, but the run does not exist");
                DoctorFinding::failure(AREA, "lost_worktree", what, fix).at(&worktree)
            } else {
                let what = format!("the branch of run {id} is left, but the run does not exist");
                DoctorFinding::failure(AREA, "lost_branch", what, fix).at(env.store.root())
            }
        })
        .collect()
}

/// Runs without a process whose documents are still active.
fn dead_runs(env: &DoctorEnv<'_>) -> Vec<DoctorFinding> {
    let (Ok(runs), Ok(Some(state))) = (env.store.runs(), env.store.read()) else {
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
        let what = format!("run {id} has no process, but {} is still active", modes.join(", "));
        let program = env.program();
        let fix = format!("{program} runs resume {id}, or {program} cancel --session-id {id}");
        findings.push(DoctorFinding::failure(AREA, "dead_run", what, fix).at(&run.path));
    }
    findings
}

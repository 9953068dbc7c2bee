//! What a start that was killed left behind: a worktree or a branch of a run that does not
//! exist.

use std::collections::BTreeSet;

use omx_kernel::{Refusal, RunId};

use crate::env::ProjectEnv;
use crate::git::{BranchName, Checkout, RemovedWorktree};
use crate::retention::{KeptRun, RetentionReport, describe_kept};
use crate::workspace;

/// A younger worktree may belong to a run that is being started.
const YOUNGEST_MS: i64 = 60_000;

/// Removes the worktrees and branches of runs that do not exist, if that loses nothing, and
/// reports the others.
pub(crate) fn collect_orphans(
    env: &ProjectEnv<'_>,
    report: &mut RetentionReport,
) -> Result<(), Refusal> {
    // Nothing here needs temporary files: a worktree with changes is kept.
    let scratch = env.store.tree().join("runs");
    let Ok(checkout) = workspace::project_checkout(env, scratch) else { return Ok(()) };
    for id in orphans(env, &checkout)? {
        let (path, branch) = (env.store.run_worktree(&id), BranchName::of_run(&env.dialect, &id));
        if !path.parent().is_some_and(std::path::Path::is_dir) {
            env.store.lock(env.lock_deadline, "worktree")?.make_run_worktrees()?;
        }
        match checkout.remove_worktree(&path, &branch).map_err(workspace::refusal)? {
            RemovedWorktree::Removed => report.worktrees.push(id),
            RemovedWorktree::Kept(why) => {
                let why = format!("its run does not exist; {}", describe_kept(&why));
                report.kept.push(KeptRun { id, path, why: why.into() });
            }
        }
    }
    Ok(())
}

/// Returns the runs that do not exist, but have a worktree or a branch. Outside git there
/// are none.
pub fn find_orphans(env: &ProjectEnv<'_>) -> Result<BTreeSet<RunId>, Refusal> {
    let scratch = env.store.tree().join("runs");
    match workspace::project_checkout(env, scratch) {
        Ok(checkout) => orphans(env, &checkout),
        Err(_) => Ok(BTreeSet::new()),
    }
}

fn orphans(env: &ProjectEnv<'_>, checkout: &Checkout) -> Result<BTreeSet<RunId>, Refusal> {
    let mut found: BTreeSet<RunId> = env.store.run_worktrees()?.into_iter().collect();
    let prefix = format!("refs/heads/{}/", env.dialect.run_prefix);
    let branches = checkout.branches_below(&prefix).map_err(workspace::refusal)?;
    found.extend(branches.iter().filter_map(|name| RunId::new(name).ok()));
    let mut orphans = BTreeSet::new();
    for id in found {
        let is_young = env.now.millis_since(id.created_at()) < YOUNGEST_MS;
        if !is_young && env.store.run(&id)?.is_none() {
            orphans.insert(id);
        }
    }
    Ok(orphans)
}

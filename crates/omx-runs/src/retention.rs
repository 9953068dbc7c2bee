//! Removes the leftovers of runs: worktrees whose work is merged, and everything of
//! runs that ended long ago. Keeps and reports a worktree whose work exists nowhere
//! else.

use std::path::{Path, PathBuf};

use omx_kernel::{ForeignText, Refusal, RefusalCode, RunId, SessionId};
use omx_store::runs::{LockHolder, RunAcquisition, RunFolder, RunRemoval};

use crate::env::ProjectEnv;
use crate::git::{BranchName, CommitId, GitLocation, KeptWorktree, RemovedWorktree};
use crate::overview::{Overview, overview};
use crate::spec::{RunSpec, Workspace};
use crate::workspace;

/// What was removed, and what was kept.
#[derive(Debug, Default)]
pub struct RetentionReport {
    /// Runs that were removed with their documents and journals.
    pub runs: Vec<RunId>,
    /// Runs whose worktree was removed.
    pub worktrees: Vec<RunId>,
    /// Runs that are old enough to remove but have work in their worktrees.
    pub kept: Vec<KeptRun>,
}

/// A run that was kept because of its worktree.
#[derive(Debug)]
pub struct KeptRun {
    /// The run.
    pub id: RunId,
    /// Its worktree.
    pub path: PathBuf,
    /// Why it was kept, for people.
    pub why: ForeignText,
}

/// Removes what is no longer needed. Keeps runs with a final outcome for `kept_ms`
/// milliseconds after their last record, and all other runs forever.
pub fn collect_garbage(env: &ProjectEnv<'_>, kept_ms: i64) -> Result<RetentionReport, Refusal> {
    let mut report = RetentionReport::default();
    let store = env.store;
    for run in store.runs()? {
        let Some(folder) = store.run(&run.id)? else { continue };
        let Ok(seen) = overview(store, &folder) else { continue };
        let is_old = seen.last.is_some_and(|last| env.now.millis_since(last) > kept_ms);
        if !has_ended(&seen) || !(is_old || seen.state == "complete") {
            continue;
        }
        match remove_worktree(env, &folder, &seen)? {
            WorktreeRemoval::None => {}
            WorktreeRemoval::Removed => report.worktrees.push(run.id.clone()),
            // A recent run that is not merged yet is normal and not worth reporting.
            WorktreeRemoval::Kept(why) => {
                if is_old {
                    let path = store.run_worktree(&run.id);
                    report.kept.push(KeptRun { id: run.id.clone(), path, why: why.into() });
                }
                continue;
            }
        }
        if is_old {
            let locked = store.lock(env.lock_deadline, "runs gc")?;
            locked.remove_session(&SessionId::new(run.id.as_str())?)?;
            locked.remove_run(&run.id)?;
            report.runs.push(run.id);
        }
    }
    Ok(report)
}

/// Whether a run has reached a final outcome.
fn has_ended(seen: &Overview) -> bool {
    ["complete", "failed", "cancelled", "limit"].contains(&seen.state.raw())
}

enum WorktreeRemoval {
    /// There is no worktree.
    None,
    Removed,
    /// The worktree was kept, for this reason.
    Kept(String),
}

fn remove_worktree(
    env: &ProjectEnv<'_>,
    folder: &RunFolder,
    seen: &Overview,
) -> Result<WorktreeRemoval, Refusal> {
    if matches!(seen.spec.workspace, Workspace::InPlace { .. }) {
        return Ok(WorktreeRemoval::None);
    }
    // Hold the run's lock so that no process can resume it meanwhile.
    let RunAcquisition::Acquired(_held) =
        env.store.acquire_run(&seen.id, &LockHolder::this_process())?
    else {
        return Ok(WorktreeRemoval::Kept("the run is in progress".to_owned()));
    };
    let path = env.store.run_worktree(&seen.id);
    let was_there = path.symlink_metadata().is_ok();
    if !was_there && !path.parent().is_some_and(Path::is_dir) {
        return Ok(WorktreeRemoval::None);
    }
    let git = workspace::git(env.environment, folder.scratch()?);
    let GitLocation::Checkout(checkout) =
        git.locate(env.store.root()).map_err(workspace::refusal)?
    else {
        let words = format!("{} is no longer a git checkout", env.store.root().display());
        return Ok(if was_there { WorktreeRemoval::Kept(words) } else { WorktreeRemoval::None });
    };
    let branch = BranchName::of_run(&env.dialect, &seen.id);
    Ok(match checkout.remove_worktree(&path, &branch).map_err(workspace::refusal)? {
        RemovedWorktree::Removed if was_there => WorktreeRemoval::Removed,
        RemovedWorktree::Removed => WorktreeRemoval::None,
        RemovedWorktree::Kept(why) => WorktreeRemoval::Kept(describe(&why)),
    })
}

fn describe(why: &KeptWorktree) -> String {
    match why {
        KeptWorktree::Dirty(files) => {
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            format!("uncommitted: {}", names.join(", "))
        }
        KeptWorktree::InProgress(operation) => format!("{operation} is in progress"),
        KeptWorktree::Unmerged => "its commits are not in the branch you are on".to_owned(),
        KeptWorktree::Locked(reason) if reason.is_empty() => "it is locked".to_owned(),
        KeptWorktree::Locked(reason) => format!("it is locked: {reason}"),
        KeptWorktree::Foreign => "it is not on its own branch".to_owned(),
        KeptWorktree::Refused(words) => words.clone(),
    }
}

/// What a discard may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardScope {
    /// Only runs whose work is committed and merged, and runs that changed nothing.
    NothingOfValue,
    /// Also work that exists nowhere else.
    Everything,
}

/// What a discard removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscardedRun {
    /// Its worktree, if it had one.
    pub worktree: Option<PathBuf>,
    /// Its branch, if it had one.
    pub branch: Option<String>,
    /// The commit its branch pointed to. `git branch NAME COMMIT` restores the branch
    /// until git collects its own garbage.
    pub commit: Option<CommitId>,
    /// Its folder, with the journal.
    pub folder: PathBuf,
}

/// Removes a run that no process drives: its worktree, branch, documents and folder.
/// Refuses to lose work unless `scope` allows it.
pub fn discard(
    env: &ProjectEnv<'_>,
    id: &RunId,
    scope: DiscardScope,
) -> Result<DiscardedRun, Refusal> {
    let in_progress =
        || Refusal::new(RefusalCode::Busy, format!("run {id} is in progress; cancel it first"));
    let held = match env.store.acquire_run(id, &LockHolder::this_process())? {
        RunAcquisition::Acquired(held) => held,
        RunAcquisition::HeldBy(_) => return Err(in_progress()),
        RunAcquisition::Missing => {
            return Err(Refusal::invalid_input(format!("there is no run {id}")));
        }
    };
    let spec = RunSpec::load(held.folder())?;
    let folder = held.folder().path().to_owned();
    let mut removed = DiscardedRun { worktree: None, branch: None, commit: None, folder };
    if let Workspace::Worktree { branch, .. } = &spec.workspace {
        removed.commit = discard_worktree(env, id, held.folder(), scope)?;
        removed.worktree = Some(env.store.run_worktree(id));
        removed.branch = Some(branch.clone());
    }
    // Removing the folder acquires the run's lock itself.
    drop(held);
    let locked = env.store.lock(env.lock_deadline, "runs discard")?;
    match locked.remove_run(id)? {
        RunRemoval::Removed | RunRemoval::Missing => {}
        RunRemoval::Alive(_) => return Err(in_progress()),
    }
    locked.remove_session(&SessionId::new(id.as_str())?)?;
    Ok(removed)
}

fn discard_worktree(
    env: &ProjectEnv<'_>,
    id: &RunId,
    folder: &RunFolder,
    scope: DiscardScope,
) -> Result<Option<CommitId>, Refusal> {
    let path = env.store.run_worktree(id);
    if !path.parent().is_some_and(Path::is_dir) {
        return Ok(None);
    }
    let checkout = workspace::project_checkout(env, folder.scratch()?)?;
    let branch = BranchName::of_run(&env.dialect, id);
    let kept = |why: &KeptWorktree| {
        Refusal::invalid_input(format!("the worktree {} stays: {}", path.display(), describe(why)))
    };
    match scope {
        DiscardScope::Everything => checkout
            .discard_worktree(&path, &branch)
            .map_err(workspace::refusal)?
            .map_err(|why| kept(&why)),
        DiscardScope::NothingOfValue => {
            match checkout.remove_worktree(&path, &branch).map_err(workspace::refusal)? {
                RemovedWorktree::Removed => Ok(None),
                RemovedWorktree::Kept(
                    why @ (KeptWorktree::Dirty(_)
                    | KeptWorktree::Unmerged
                    | KeptWorktree::InProgress(_)),
                ) => Err(Refusal::invalid_input(format!(
                    "discarding run {id} would lose work ({}); merge it first, or discard the \
                     run with force",
                    describe(&why)
                ))),
                RemovedWorktree::Kept(why) => Err(kept(&why)),
            }
        }
    }
}

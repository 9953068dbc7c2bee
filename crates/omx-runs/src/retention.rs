//! Removes the leftovers of runs: worktrees whose work is merged, and everything of
//! runs that ended long ago. Keeps and reports a worktree whose work exists nowhere
//! else.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use omx_kernel::{ForeignText, Refusal, RefusalCode, RunId, RunState, SessionId, Timestamp};
use omx_process::git_dir::{find_worktree_top, git_dir};
use omx_process::read_plain_file;
use omx_store::ArtifactFolder;
use omx_store::runs::{LockHolder, RunAcquisition, RunFolder, RunRegistry, RunRemoval};

use crate::env::ProjectEnv;
use crate::git::{BranchName, CommitId, GitLocation, KeptWorktree, RemovedWorktree};
use crate::listing::{ListDetail, ListRange, RunListQuery, RunListing, UnreadableRun, list_runs};
use crate::orphans::collect_orphans;
use crate::spec::{RunSpec, Workspace};
use crate::{stop, workspace};

/// The maximum size of a file of git that is read.
const MAX_GIT_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What was removed, and what was kept.
#[derive(Debug, Default)]
pub struct RetentionReport {
    /// Runs that were removed with their documents and journals.
    pub runs: Vec<RunId>,
    /// Runs whose worktree was removed.
    pub worktrees: Vec<RunId>,
    /// Runs that are old enough to remove but have work in their worktrees.
    pub kept: Vec<KeptRun>,
    /// Runs that cannot be read. They stay.
    pub unreadable: Vec<UnreadableRun>,
    /// Sessions whose documents ended long ago and were removed.
    pub sessions: usize,
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

/// How many runs are removed while the project's lock is held. A hook waits for it.
const BATCH: usize = 100;

/// Removes what is no longer needed. Keeps runs with a final outcome for `kept_ms`
/// milliseconds after their last record, and all other runs forever. Runs that are not
/// the person's are left alone.
pub fn collect_garbage(
    env: &ProjectEnv<'_>,
    kept_ms: i64,
    registry: Option<&RunRegistry>,
) -> Result<RetentionReport, Refusal> {
    let store = env.store;
    let all = RunListQuery { range: ListRange::All, detail: ListDetail::Summary };
    let RunListing { runs, unreadable, .. } = list_runs(store, registry, env.now, all, |run| run)?;
    let mut report = RetentionReport { unreadable, ..RetentionReport::default() };
    let left = leftovers(env)?;
    let mut old = Vec::new();
    let mut oldest_kept = env.now;
    for run in runs {
        let is_old = run.last().is_some_and(|last| env.now.millis_since(last) > kept_ms);
        let is_due =
            run.state.is_final() && !run.is_foreign && (is_old || run.state == RunState::COMPLETE);
        let cleared = match is_due && left.contains(&run.id) {
            true => clear(env, &run.id, &mut report.worktrees),
            false => Ok(()),
        };
        match cleared {
            Ok(()) if is_due && is_old => {
                old.push(run.id);
                continue;
            }
            // A recent run that is not merged yet is normal and not worth reporting.
            Err(Leftover { why, is_usual }) if is_old || !is_usual => {
                let path = store.run_worktree(&run.id);
                report.kept.push(KeptRun { id: run.id, path, why: why.into() });
            }
            Ok(()) | Err(_) => {}
        }
        let started = Timestamp::parse(run.started_at.raw()).unwrap_or(env.now);
        oldest_kept = oldest_kept.min(started);
    }
    for batch in old.chunks(BATCH) {
        let locked = store.lock(env.lock_deadline, "runs gc")?;
        // A run that was resumed meanwhile stays, with its documents.
        let removed = locked.remove_runs(batch)?;
        let sessions = removed.iter().map(|id| SessionId::new(id.as_str()));
        locked.remove_sessions(&sessions.collect::<Result<Vec<_>, _>>()?)?;
        report.runs.extend(removed);
    }
    let before = Timestamp::from_millis(env.now.millis() - kept_ms);
    let locked = store.lock(env.lock_deadline, "runs gc")?;
    report.sessions = locked.remove_ended_sessions(before)?;
    // The snapshot of a run that is kept is younger than the run's start.
    locked.remove_old_artifacts(ArtifactFolder::Context, before.min(oldest_kept))?;
    collect_orphans(env, &mut report)?;
    Ok(report)
}

/// Removes a run's worktree and branch, or says why they stay. Those of one run do not
/// keep those of another.
fn clear(env: &ProjectEnv<'_>, id: &RunId, removed: &mut Vec<RunId>) -> Result<(), Leftover> {
    match remove_leftovers(env, id) {
        Ok(WorktreeRemoval::None) => Ok(()),
        Ok(WorktreeRemoval::Removed) => {
            removed.push(id.clone());
            Ok(())
        }
        Ok(WorktreeRemoval::Kept(why)) => Err(why),
        Err(refusal) => Err(Leftover { why: refusal.message, is_usual: true }),
    }
}

/// A worktree that stays.
struct Leftover {
    why: String,
    /// Whether it stays only because its work is not merged yet.
    is_usual: bool,
}

/// The runs that have a worktree or a branch.
fn leftovers(env: &ProjectEnv<'_>) -> Result<HashSet<RunId>, Refusal> {
    let mut left: HashSet<RunId> = env.store.run_worktrees()?.into_iter().collect();
    let prefix = format!("refs/heads/{}/", env.dialect.run_prefix);
    left.extend(
        branches(env.store.root(), &prefix).iter().filter_map(|name| RunId::new(name).ok()),
    );
    Ok(left)
}

/// The names of branches with this prefix, from git's own files.
fn branches(root: &Path, prefix: &str) -> Vec<String> {
    let Some(git) = find_worktree_top(root).and_then(git_dir) else { return Vec::new() };
    let common = read_plain_file(&git.join("commondir"), MAX_GIT_FILE_BYTES)
        .map_or_else(|_| git.clone(), |path| git.join(path.trim()));
    let loose = fs::read_dir(common.join(prefix)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        loose.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let packed = read_plain_file(&common.join("packed-refs"), MAX_GIT_FILE_BYTES);
    let packed = packed.unwrap_or_default();
    let name = |line: &str| Some(line.split_once(' ')?.1.strip_prefix(prefix)?.to_owned());
    names.extend(packed.lines().filter_map(name));
    names
}

enum WorktreeRemoval {
    /// There is no worktree.
    None,
    Removed,
    /// The worktree was kept.
    Kept(Leftover),
}

fn remove_leftovers(env: &ProjectEnv<'_>, id: &RunId) -> Result<WorktreeRemoval, Refusal> {
    // Hold the run's lock so that no process can resume it meanwhile.
    let RunAcquisition::Acquired(held) = env.store.acquire_run(id, &LockHolder::this_process())?
    else {
        let why = "the run is in progress".to_owned();
        return Ok(WorktreeRemoval::Kept(Leftover { why, is_usual: true }));
    };
    let folder = held.folder();
    if matches!(RunSpec::load(folder)?.workspace, Workspace::InPlace { .. }) {
        return Ok(WorktreeRemoval::None);
    }
    let path = env.store.run_worktree(id);
    let was_there = path.symlink_metadata().is_ok();
    if !was_there && !path.parent().is_some_and(Path::is_dir) {
        return Ok(WorktreeRemoval::None);
    }
    let git = workspace::git(env.environment, folder.scratch()?);
    let GitLocation::Checkout(checkout) =
        git.locate(env.store.root()).map_err(workspace::refusal)?
    else {
        let why = format!("{} is no longer a git checkout", env.store.root().display());
        let kept = WorktreeRemoval::Kept(Leftover { why, is_usual: true });
        return Ok(if was_there { kept } else { WorktreeRemoval::None });
    };
    let branch = BranchName::of_run(&env.dialect, id);
    Ok(match checkout.remove_worktree(&path, &branch).map_err(workspace::refusal)? {
        RemovedWorktree::Removed if was_there => WorktreeRemoval::Removed,
        RemovedWorktree::Removed => WorktreeRemoval::None,
        RemovedWorktree::Kept(why) => {
            let is_usual = why.is_usual();
            WorktreeRemoval::Kept(Leftover { why: describe_kept(&why), is_usual })
        }
    })
}

pub(crate) fn describe_kept(why: &KeptWorktree) -> String {
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
        KeptWorktree::Forgotten => "git does not know it as a worktree".to_owned(),
        KeptWorktree::Linked => "a link is in its place, which is not followed".to_owned(),
        KeptWorktree::Mounted(path) => {
            format!("a file system is mounted at {}; unmount it first", path.display())
        }
        KeptWorktree::Refused(words) => {
            let first = words.strip_prefix("error: ").or_else(|| words.strip_prefix("fatal: "));
            first.unwrap_or(words).to_owned()
        }
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
        RunAcquisition::HeldBy(_) => {
            let stranger = stop::describe_stranger(env.store, id);
            let why = |words| Refusal::new(RefusalCode::Busy, words);
            return Err(stranger.map_or_else(in_progress, why));
        }
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
        Refusal::invalid_input(format!(
            "the worktree {} stays: {}",
            path.display(),
            describe_kept(why)
        ))
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
                    describe_kept(&why)
                ))),
                RemovedWorktree::Kept(why) => Err(kept(&why)),
            }
        }
    }
}

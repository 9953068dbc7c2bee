//! Clearing up after runs: the worktrees of those whose work is merged, and all
//! of those that ended long ago. What holds work that is nowhere else stays,
//! and is named.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use omx_kernel::{Refusal, RunId, SessionId};
use omx_ops::Context;
use omx_store::Store;
use omx_store::runs::{Holder, RunFolder, Taking};

use crate::asked::Ground;
use crate::git::{BranchName, KeptWorktree, Place, RemovedWorktree};
use crate::ground;
use crate::overview::{Overview, overview};

/// What came of it.
#[derive(Debug, Default)]
pub struct Swept {
    /// Runs that are gone, with their documents and journals.
    pub runs: Vec<RunId>,
    /// Runs whose worktree is gone.
    pub worktrees: Vec<RunId>,
    /// Worktrees that would be gone but for what is in them.
    pub kept: Vec<KeptRun>,
}

/// A run that stays because of its worktree.
#[derive(Debug)]
pub struct KeptRun {
    /// Which.
    pub id: RunId,
    /// Where its worktree is.
    pub path: PathBuf,
    /// Why it stays, in words.
    pub why: String,
}

/// Clears up. Runs are kept for so many milliseconds after their end; one that
/// has not come to its end stays for as long as it likes.
pub fn sweep(
    context: &Context<'_>,
    store: &Store,
    environment: &BTreeMap<OsString, OsString>,
    kept_ms: i64,
) -> Result<Swept, Refusal> {
    let mut swept = Swept::default();
    let now = context.clock.now();
    for run in store.runs()? {
        let Some(folder) = store.run(&run.id)? else { continue };
        let Ok(seen) = overview(store, &folder) else { continue };
        let has_ended = ["complete", "failed", "cancelled", "limit"].contains(&seen.state.as_str());
        let is_old = seen.last.is_some_and(|last| now.millis_since(last) > kept_ms);
        if !has_ended || !(is_old || seen.state == "complete") {
            continue;
        }
        match remove_worktree(context, store, environment, &folder, &seen)? {
            Worktree::None => {}
            Worktree::Removed => swept.worktrees.push(run.id.clone()),
            // Not merged yet is nothing to tell of a run that is not old.
            Worktree::Kept(why) => {
                if is_old {
                    let path = store.run_worktree(&run.id);
                    swept.kept.push(KeptRun { id: run.id.clone(), path, why });
                }
                continue;
            }
        }
        if is_old {
            let locked = store.lock(context.lock_deadline, "runs gc")?;
            locked.remove_session(&SessionId::new(run.id.as_str())?)?;
            locked.remove_run(&run.id)?;
            swept.runs.push(run.id);
        }
    }
    Ok(swept)
}

enum Worktree {
    /// There was none to remove.
    None,
    Removed,
    /// It stays: why, in words.
    Kept(String),
}

fn remove_worktree(
    context: &Context<'_>,
    store: &Store,
    environment: &BTreeMap<OsString, OsString>,
    folder: &RunFolder,
    seen: &Overview,
) -> Result<Worktree, Refusal> {
    if matches!(seen.asked.ground, Ground::InPlace { .. }) {
        return Ok(Worktree::None);
    }
    // Held meanwhile, so that nobody goes on with it.
    let Taking::Taken(_held) = store.take_run(&seen.id, &Holder::this_process())? else {
        return Ok(Worktree::Kept("it is going on".to_owned()));
    };
    let path = store.run_worktree(&seen.id);
    let was_there = path.symlink_metadata().is_ok();
    if !was_there && !path.parent().is_some_and(std::path::Path::is_dir) {
        return Ok(Worktree::None);
    }
    let git = ground::git(environment, folder.scratch()?);
    let Place::Checkout(checkout) = git.look(store.root()).map_err(ground::refusal)? else {
        let words = format!("{} is no git checkout any more", store.root().display());
        return Ok(if was_there { Worktree::Kept(words) } else { Worktree::None });
    };
    let branch = BranchName::of_run(&context.dialect, &seen.id);
    Ok(match checkout.remove_worktree(&path, &branch).map_err(ground::refusal)? {
        RemovedWorktree::Removed if was_there => Worktree::Removed,
        RemovedWorktree::Removed => Worktree::None,
        RemovedWorktree::Kept(why) => Worktree::Kept(in_words(&why)),
    })
}

fn in_words(why: &KeptWorktree) -> String {
    match why {
        KeptWorktree::Dirty(files) => {
            let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
            format!("not committed: {}", names.join(", "))
        }
        KeptWorktree::InProgress(operation) => format!("{operation} was begun and not ended"),
        KeptWorktree::Unmerged => "its commits are not in the branch you are on".to_owned(),
        KeptWorktree::Locked(reason) if reason.is_empty() => "it is locked".to_owned(),
        KeptWorktree::Locked(reason) => format!("it is locked: {reason}"),
        KeptWorktree::Foreign => "it is not on its own branch".to_owned(),
        KeptWorktree::Refused(words) => words.clone(),
    }
}

//! Where a run works: a worktree of its own, or the person's folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use omx_kernel::{Code, Refusal, RunId};
use omx_ops::Context;
use omx_store::Store;

use crate::asked::Ground;
use crate::git::{BranchName, CommitId, Git, GitError, GitLimits, Head, Integration, Place};

/// What the person chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// A worktree, where there is git.
    Worktree,
    /// The checkout, if nothing in it is uncommitted.
    InPlace,
    /// The checkout, whatever is in it.
    InPlaceDirty,
    /// The checkout, which will only be looked at.
    ToLookAt,
}

/// git for a project, with a folder for what it needs for a moment.
pub fn git(environment: &BTreeMap<OsString, OsString>, scratch: PathBuf) -> Git {
    Git::new("git".into(), environment, scratch, GitLimits::default())
}

/// Makes the ground of a new run. Tells also what the person should know.
pub fn prepare(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    environment: &BTreeMap<OsString, OsString>,
    choice: Choice,
) -> Result<(Ground, Option<String>), Refusal> {
    let scratch = store.tree().join("runs").join(id.as_str()).join("scratch");
    let git = git(environment, scratch);
    let in_place = || Ground::InPlace { path: store.root().to_owned() };
    let checkout = match git.look(store.root()).map_err(refusal)? {
        Place::Checkout(checkout) => checkout,
        Place::Outside | Place::Bare => {
            let words = "this is no git checkout: the run works in it, and nothing can be undone";
            return Ok((in_place(), Some(words.to_owned())));
        }
    };
    match choice {
        Choice::InPlaceDirty | Choice::ToLookAt => return Ok((in_place(), None)),
        Choice::InPlace => {
            let files = checkout.status().map_err(refusal)?.touched();
            if files.is_empty() {
                return Ok((in_place(), None));
            }
            return Err(refusal(GitError::Dirty { files }).with_hint("; or add --dirty"));
        }
        Choice::Worktree => {}
    }
    let base = match checkout.head().map_err(refusal)? {
        Head::Unborn => return Err(refusal(GitError::NoCommit)),
        Head::Detached(commit) | Head::Branch { commit, .. } => commit,
    };
    let branch = BranchName::of_run(&context.dialect, id);
    store.lock(context.lock_deadline, "worktree")?.make_run_worktrees()?;
    let path = store.run_worktree(id);
    let added = checkout.add_worktree(&path, &branch, &base).map_err(refusal)?;
    let words = added.hook.map(|hook| hook.to_string());
    // A project that is a folder of its repository is the same folder there.
    let mut path = added.checkout.top().to_owned();
    path.extend(checkout.prefix());
    let ground = Ground::Worktree {
        path,
        branch: branch.as_str().to_owned(),
        base: base.as_str().to_owned(),
    };
    Ok((ground, words))
}

/// The ground of a run where it is now: the project may have been moved or
/// copied since the run began, or its disk be mounted elsewhere.
pub fn here(store: &Store, id: &RunId, ground: Ground) -> Ground {
    match ground {
        Ground::InPlace { .. } => Ground::InPlace { path: store.root().to_owned() },
        Ground::Worktree { path, branch, base } => {
            let mut below = path.components().skip_while(|part| part.as_os_str() != id.as_str());
            below.next();
            let mut path = store.run_worktree(id);
            path.extend(below);
            Ground::Worktree { path, branch, base }
        }
    }
}

/// Makes sure that the ground of a run that is taken up is there.
pub fn restore(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    environment: &BTreeMap<OsString, OsString>,
    ground: &Ground,
    scratch: PathBuf,
) -> Result<(), Refusal> {
    let Ground::Worktree { base, .. } = ground else { return Ok(()) };
    let git = git(environment, scratch);
    let Place::Checkout(checkout) = git.look(store.root()).map_err(refusal)? else {
        return Err(Refusal::input(format!(
            "{} is no git checkout any more",
            store.root().display()
        )));
    };
    store.lock(context.lock_deadline, "worktree")?.make_run_worktrees()?;
    let branch = BranchName::of_run(&context.dialect, id);
    let base = CommitId::new(base)?;
    checkout.add_worktree(&store.run_worktree(id), &branch, &base).map_err(refusal)?;
    Ok(())
}

/// Commits what a step changed, where the branch is ours, and tells the hash
/// of what the folder holds.
pub fn settle(
    git: &Git,
    ground: &Ground,
    branch: &BranchName,
    message: Option<&str>,
) -> Result<Option<String>, GitError> {
    let Place::Checkout(checkout) = git.look(ground.folder())? else { return Ok(None) };
    if let (Ground::Worktree { .. }, Some(message)) = (ground, message) {
        checkout.commit_all(branch, message)?;
    }
    checkout.tree().map(|tree| Some(tree.as_str().to_owned()))
}

/// git's no as a refusal.
pub fn refusal(error: GitError) -> Refusal {
    Refusal::new(Code::InvalidInput, error.to_string())
}

trait Hint {
    fn with_hint(self, hint: &str) -> Self;
}

impl Hint for Refusal {
    fn with_hint(mut self, hint: &str) -> Self {
        self.message.push_str(hint);
        self
    }
}

/// What a run made, for people: files and lines.
pub fn size(git: &Git, ground: &Ground) -> Option<String> {
    let Ground::Worktree { base, path, .. } = ground else { return None };
    let Ok(Place::Checkout(checkout)) = git.look(path as &Path) else { return None };
    let base = CommitId::new(base).ok()?;
    let changes = checkout.changes(&base, &checkout.tree().ok()?).ok()?;
    let files = changes.files.len();
    let plural = if files == 1 { "file" } else { "files" };
    Some(format!("{files} {plural}, +{} -{}", changes.added(), changes.removed()))
}

/// Brings what a run made to the branch the person is on.
pub fn integrate(
    context: &Context<'_>,
    store: &Store,
    id: &RunId,
    environment: &BTreeMap<OsString, OsString>,
    scratch: PathBuf,
) -> Result<Integration, Refusal> {
    let git = git(environment, scratch);
    let Place::Checkout(checkout) = git.look(store.root()).map_err(refusal)? else {
        return Err(Refusal::input(format!("{} is no git checkout", store.root().display())));
    };
    checkout.integrate(&BranchName::of_run(&context.dialect, id)).map_err(refusal)
}

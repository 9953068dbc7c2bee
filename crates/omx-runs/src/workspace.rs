//! The workspace of a run: a worktree of its own, or the person's directory.

use std::ffi::OsStr;
use std::path::PathBuf;

use omx_kernel::git_settings::RepositorySnapshot;
use omx_kernel::{Refusal, RefusalCode, RunId};
use omx_process::SearchPath;
use omx_store::Store;
use omx_store::runs::HeldRun;

use crate::env::{GitEnvironment, ProjectEnv};
use crate::git::{
    BranchName, Checkout, CommitId, Git, GitError, GitLimits, GitLocation, Head, Integration,
};
use crate::repository::SNAPSHOT_FILE;
use crate::spec::Workspace;

/// Where the person wants a run to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceChoice {
    /// In a worktree, if the project is under git.
    Worktree,
    /// In the checkout, which must be clean.
    InPlace,
    /// In the checkout, whatever its state.
    InPlaceDirty,
    /// In the checkout, without changing anything.
    ReadOnly,
}

/// Returns git for a project, with a folder for its temporary files. Neither git nor what
/// it starts is looked up in the project.
pub fn git(environment: &GitEnvironment, scratch: PathBuf) -> Git {
    let mut environment = environment.variables().clone();
    let mut program = PathBuf::from("git");
    let home = environment.get(OsStr::new("HOME")).map(PathBuf::from);
    if let Some(path) = environment.get_mut(OsStr::new("PATH")) {
        let folders = SearchPath::new(path).outside_worktree_of(&scratch, home.as_deref());
        program = folders.find("git").unwrap_or(program);
        *path = folders.to_variable();
    }
    Git::new(program, &environment, scratch, GitLimits::default())
}

/// A workspace for a new run.
#[derive(Debug)]
pub struct PreparedWorkspace {
    /// The workspace.
    pub workspace: Workspace,
    /// Warnings for the person.
    pub warnings: Vec<String>,
    /// What git would execute there; `None` outside git, and for a worktree, which does
    /// not exist yet.
    pub repository: Option<RepositorySnapshot>,
}

/// Decides where a new run works. Creates nothing: the worktree is made by the process
/// that drives the run ([`restore`]), when the run can already be seen and cancelled.
pub fn prepare(
    env: &ProjectEnv<'_>,
    id: &RunId,
    choice: WorkspaceChoice,
) -> Result<PreparedWorkspace, Refusal> {
    let store = env.store;
    let scratch = store.tree().join("runs").join(id.as_str()).join("scratch");
    let git = git(env.environment, scratch);
    let in_place = || Workspace::InPlace { path: store.root().to_owned() };
    let checkout = match git.locate(store.root()).map_err(refusal)? {
        GitLocation::Checkout(checkout) => checkout,
        GitLocation::Outside | GitLocation::Bare => {
            let warning = "this is not a git checkout: the run works in this directory, and its \
                           changes cannot be undone";
            return Ok(PreparedWorkspace {
                workspace: in_place(),
                warnings: vec![warning.to_owned()],
                repository: None,
            });
        }
    };
    let prepared = |workspace, checkout: &Checkout| {
        let repository = Some(checkout.snapshot().map_err(refusal)?);
        Ok(PreparedWorkspace { workspace, warnings: describe_filters(checkout), repository })
    };
    match choice {
        WorkspaceChoice::InPlaceDirty | WorkspaceChoice::ReadOnly => {
            return prepared(in_place(), &checkout);
        }
        WorkspaceChoice::InPlace => {
            let files = checkout.status().map_err(refusal)?.touched();
            if files.is_empty() {
                return prepared(in_place(), &checkout);
            }
            let mut dirty = refusal(GitError::Dirty { files });
            dirty.message.push_str("; commit them, or allow them with dirty");
            return Err(dirty);
        }
        WorkspaceChoice::Worktree => {}
    }
    let base = match checkout.head().map_err(refusal)? {
        Head::Unborn => return Err(refusal(GitError::NoCommit)),
        Head::Detached(commit) | Head::Branch { commit, .. } => commit,
    };
    let branch = BranchName::of_run(&env.dialect, id);
    // A project in a subdirectory of its repository uses the same subdirectory of the worktree.
    let mut path = store.run_worktree(id);
    path.extend(checkout.prefix());
    let workspace = Workspace::Worktree {
        path,
        branch: branch.as_str().to_owned(),
        base: base.as_str().to_owned(),
    };
    let warnings = describe_filters(&checkout);
    Ok(PreparedWorkspace { workspace, warnings, repository: None })
}

/// Names the filters that omx does not apply.
fn describe_filters(checkout: &Checkout) -> Vec<String> {
    let filters = checkout.disabled_filters();
    let name = |name: &String| {
        format!("the git filter {name:?} is not applied in the run: its program is not known")
    };
    filters.iter().map(name).collect()
}

/// Returns the current location of a run's workspace. The project may have been
/// moved, copied or mounted elsewhere since the run started.
pub fn relocate(store: &Store, id: &RunId, workspace: Workspace) -> Workspace {
    match workspace {
        Workspace::InPlace { .. } => Workspace::InPlace { path: store.root().to_owned() },
        Workspace::Worktree { path, branch, base } => {
            let mut below = path.components().skip_while(|part| part.as_os_str() != id.as_str());
            below.next();
            let mut path = store.run_worktree(id);
            path.extend(below);
            Workspace::Worktree { path, branch, base }
        }
    }
}

/// Makes the worktree of a run, or restores it if it is missing.
pub fn restore(env: &ProjectEnv<'_>, held: &HeldRun, workspace: &Workspace) -> Result<(), Refusal> {
    let Workspace::Worktree { base, .. } = workspace else { return Ok(()) };
    let id = held.id();
    let checkout = project_checkout(env, held.folder().scratch()?)?;
    // Usually it exists, and then a lock that somebody else holds does not end the run.
    if !env.store.has_run_worktrees()? {
        env.store.lock(env.lock_deadline, "worktree")?.make_run_worktrees()?;
    }
    let branch = BranchName::of_run(&env.dialect, id);
    let base = CommitId::new(base)?;
    let path = env.store.run_worktree(id);
    let added = checkout.add_worktree(&path, &branch, &base).map_err(refusal)?;
    // No agent works before the first snapshot is written.
    if held.folder().read_part::<RepositorySnapshot>(SNAPSHOT_FILE)?.is_none() {
        held.write_part(SNAPSHOT_FILE, &added.checkout.snapshot().map_err(refusal)?)?;
    }
    Ok(())
}

/// Turns a git error into a refusal.
pub fn refusal(error: GitError) -> Refusal {
    Refusal::new(RefusalCode::InvalidInput, error.to_string())
}

/// Merges a run's branch into the branch the person has checked out.
pub fn integrate(
    env: &ProjectEnv<'_>,
    id: &RunId,
    scratch: PathBuf,
) -> Result<Integration, Refusal> {
    let checkout = project_checkout(env, scratch)?;
    checkout.integrate(&BranchName::of_run(&env.dialect, id)).map_err(refusal)
}

pub(crate) fn project_checkout(
    env: &ProjectEnv<'_>,
    scratch: PathBuf,
) -> Result<Checkout, Refusal> {
    match git(env.environment, scratch).locate(env.store.root()).map_err(refusal)? {
        GitLocation::Checkout(checkout) => Ok(checkout),
        GitLocation::Outside | GitLocation::Bare => Err(Refusal::invalid_input(format!(
            "{} is not a git checkout",
            env.store.root().display()
        ))),
    }
}

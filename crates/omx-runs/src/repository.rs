//! git in the workspace of a run. Every call names its repository: what stands in the
//! workspace, which agents write to, never decides where git works or what it executes.

use std::path::{Path, PathBuf};

use omx_kernel::git_settings::RepositorySnapshot;
use omx_kernel::{Refusal, RunId};
use omx_store::runs::RunFolder;

use crate::env::ProjectEnv;
use crate::git::{BranchName, Checkout, CommitId, GitError, GitLocation};
use crate::spec::Workspace;
use crate::workspace::{git, refusal};

/// The file with the snapshot, in a run's folder.
pub const SNAPSHOT_FILE: &str = "repository.json";

/// The repository of a run.
#[derive(Clone, Debug)]
pub struct RunRepository {
    project: Checkout,
    /// The top of the worktree; `None` if the run works in place.
    worktree: Option<PathBuf>,
    branch: BranchName,
    /// The commit the run started from.
    base: Option<CommitId>,
    /// What git would execute, when the run started.
    before: Option<RepositorySnapshot>,
}

impl RunRepository {
    /// Finds the repository of a run; `None` if the project is not a git checkout.
    pub fn open(
        env: &ProjectEnv<'_>,
        id: &RunId,
        folder: &RunFolder,
        workspace: &Workspace,
    ) -> Result<Option<Self>, Refusal> {
        let git = git(env.environment, folder.scratch()?);
        let GitLocation::Checkout(project) = git.locate(env.store.root()).map_err(refusal)? else {
            return Ok(None);
        };
        let (worktree, base) = match workspace {
            Workspace::InPlace { .. } => (None, None),
            Workspace::Worktree { base, .. } => {
                (Some(env.store.run_worktree(id)), Some(CommitId::new(base)?))
            }
        };
        let branch = BranchName::of_run(&env.dialect, id);
        let before = folder.read_part(SNAPSHOT_FILE)?;
        Ok(Some(Self { project, worktree, branch, base, before }))
    }

    /// The workspace, if git would execute there what it would have at the start.
    fn checkout(&self) -> Result<Checkout, GitError> {
        let checkout = match &self.worktree {
            Some(worktree) => self.project.worktree(worktree)?,
            None => self.project.reread()?,
        };
        if let Some(before) = &self.before {
            checkout.check_unchanged(before)?;
        }
        Ok(checkout)
    }

    /// Refuses if git would execute something else than when the run started.
    pub fn check_unchanged(&self) -> Result<(), GitError> {
        match self.checkout() {
            Ok(_) => Ok(()),
            // Without its worktree, the repository itself is compared.
            Err(GitError::NoWorktree { .. }) => match &self.before {
                Some(before) => self.project.check_unchanged(before),
                None => Ok(()),
            },
            Err(error) => Err(error),
        }
    }

    /// Commits a step's changes if the branch belongs to the run, and returns the hash of
    /// the workspace's content.
    pub fn commit_step(&self, message: Option<&str>) -> Result<String, GitError> {
        let checkout = self.checkout()?;
        if let (Some(_), Some(message)) = (&self.worktree, message) {
            checkout.commit_all(&self.branch, message)?;
        }
        checkout.tree().map(|tree| tree.as_str().to_owned())
    }

    /// Describes the size of a run's change for people: files and lines. Reads only what
    /// is committed.
    pub fn describe_size(&self) -> Option<String> {
        let tip = self.project.tip(&self.branch).ok()??;
        let changes = self.project.changes(self.base.as_ref()?, &tip).ok()?;
        let files = changes.files.len();
        let plural = if files == 1 { "file" } else { "files" };
        Some(format!("{files} {plural}, +{} -{}", changes.added(), changes.removed()))
    }

    /// The top of the worktree, if the run has one.
    pub fn worktree(&self) -> Option<&Path> {
        self.worktree.as_deref()
    }
}

//! git in the workspace of a run. Every call names its repository: what stands in the
//! workspace, which agents write to, never decides where git works or what it executes.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use omx_kernel::git_settings::RepositorySnapshot;
use omx_kernel::left_out::describe_left_out;
use omx_kernel::{AbsentFiles, Refusal, RunId};
use omx_store::runs::{JournalEntry, RunFolder};

use crate::env::ProjectEnv;
use crate::git::{
    BranchName, Checkout, CommitId, CommitOutcome, GitError, GitLocation, StepCommit,
};
use crate::record::Record;
use crate::recorded_work::{ContentBefore, RecordedWork, WorkDifference, WorkspaceState};
use crate::spec::Workspace;
use crate::step_key::StepKey;
use crate::workspace::{git, refusal};

/// The file with the snapshot, in a run's folder.
pub const SNAPSHOT_FILE: &str = "repository.json";

/// The git directory of the run's agents, in the run's folder.
const AGENT_DIR: &str = "git";

/// The hook that a commit by hand would run first.
const HOOK: &str = "pre-commit";
/// The message of the commit for what the hook changed.
const OF_HOOK: &str = "Apply the project's commit hook";

/// What becomes of the changes that a step made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepEdits {
    /// They are committed, with this message.
    Commit(String),
    /// They stay in the workspace. The next commit contains them.
    Keep,
    /// They are undone: the step only reads.
    Discard,
}

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
    agent_dir: PathBuf,
    /// Whether the project's commit hook ran since the last commit.
    ran_hook: Arc<AtomicBool>,
    /// What the journal says about the workspace, and what this process added.
    recorded: Arc<Mutex<RecordedWork>>,
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
        let entries: Vec<JournalEntry<Record>> = folder.journal()?.read_all()?;
        let recorded = RecordedWork::read(entries.iter().map(|entry| &entry.record));
        Ok(Some(Self {
            project,
            worktree,
            branch: BranchName::of_run(&env.dialect, id),
            base,
            before: folder.read_part(SNAPSHOT_FILE)?,
            agent_dir: folder.path().join(AGENT_DIR),
            ran_hook: Arc::default(),
            recorded: Arc::new(Mutex::new(recorded)),
        }))
    }

    /// The paths that an agent of this run must be able to write for its own git to work,
    /// besides the workspace. They exist once [`RunRepository::give_to_agent`] returned.
    pub fn agent_writable_paths(&self) -> Vec<PathBuf> {
        self.worktree.iter().map(|_| self.agent_dir.clone()).collect()
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

    /// Gives the workspace a git directory for agents. `others` says whether another agent
    /// already works with it; then it stays as it is.
    pub fn give_to_agent(&self, others: OtherAgents) -> Result<(), GitError> {
        if self.worktree.is_none() {
            return Ok(());
        }
        let checkout = self.checkout()?;
        if others == OtherAgents::None {
            let missing = || GitError::NoBranch { branch: self.branch.to_string() };
            let tip = self.project.tip(&self.branch)?.ok_or_else(missing)?;
            checkout.make_agent_dir(&self.agent_dir, &self.branch, &tip)?;
        }
        checkout.point_to(&self.agent_dir)
    }

    /// Takes the workspace back from the agents. Returns what to report about it.
    pub fn take_back(&self) -> Result<Option<String>, GitError> {
        let Some(worktree) = &self.worktree else { return Ok(None) };
        let checkout = self.project.worktree(worktree)?;
        let is_changed =
            !checkout.points_to(&self.agent_dir) && !checkout.points_to(checkout.git_dir());
        checkout.restore_pointer()?;
        let words = "the file .git of the workspace was changed and is restored";
        Ok(is_changed.then(|| words.to_owned()))
    }

    /// Prepares the project's commit hook to run after a check, as part of it. Returns the
    /// shell command; `None` if there is no such hook. The hook sees everything that the
    /// run changed as staged, in a git directory of its own.
    pub fn hook_command(&self) -> Result<Option<String>, GitError> {
        let (Some(_), Some(base)) = (&self.worktree, &self.base) else { return Ok(None) };
        let checkout = self.checkout()?;
        let hooks = checkout.hooks_folder();
        if !is_program(&hooks.join(HOOK)) {
            return Ok(None);
        }
        checkout.make_agent_dir(&self.agent_dir, &self.branch, base)?;
        self.ran_hook.store(true, Ordering::Relaxed);
        Ok(Some(format!(
            "GIT_DIR={} GIT_WORK_TREE={} git -c core.hooksPath={} hook run {HOOK} || \
             {{ code=$?; echo 'the git hook {HOOK} failed'; exit $code; }}",
            quote(&self.agent_dir),
            quote(checkout.top()),
            quote(&hooks)
        )))
    }

    /// Takes care of a step's changes, and returns the hash of the workspace's content.
    pub fn commit_step(&self, edits: &StepEdits) -> Result<StepCommit, GitError> {
        match self.try_commit_step(edits) {
            Err(GitError::Locked { path }) => {
                let removed = self.checkout()?.remove_dead_locks(&self.branch)?;
                if removed.contains(&path) {
                    self.try_commit_step(edits)
                } else {
                    Err(GitError::Locked { path })
                }
            }
            result => result,
        }
    }

    fn try_commit_step(&self, edits: &StepEdits) -> Result<StepCommit, GitError> {
        let checkout = self.checkout()?;
        let mut done = StepCommit::default();
        if self.worktree.is_some() {
            self.check_branch(&self.lock_recorded())?;
            // A hook may format the files that it checks.
            let of_hook = StepEdits::Commit(OF_HOOK.to_owned());
            let ran_hook = self.ran_hook.swap(false, Ordering::Relaxed);
            let edits = if ran_hook && *edits == StepEdits::Keep { &of_hook } else { edits };
            match edits {
                StepEdits::Commit(message) => {
                    let (outcome, content) = checkout.commit_staged(&self.branch, message)?;
                    if let CommitOutcome::Commit { commit, .. } = outcome {
                        done.commit = Some(commit.as_str().to_owned());
                    }
                    done.notes.extend(describe_left_out(&content.left_out));
                    done.tree = Some(content.tree.as_str().to_owned());
                }
                StepEdits::Discard => done.notes.extend(self.discard_edits(&checkout)?),
                StepEdits::Keep => {}
            }
        }
        if done.tree.is_none() {
            done.tree = Some(checkout.tree()?.as_str().to_owned());
        }
        Ok(done)
    }

    /// Undoes what a step changed that only reads.
    fn discard_edits(&self, checkout: &Checkout) -> Result<Option<String>, GitError> {
        let recorded = self.lock_recorded().tree().map(|(_, tree)| tree.clone());
        let before = match recorded {
            Some(tree) => tree,
            None => checkout.branch_content(&self.branch)?,
        };
        let now = checkout.tree()?;
        if now == before {
            return Ok(None);
        }
        let changes = checkout.changes(&before, &now)?;
        let names = changes.files.iter().take(5);
        let names: Vec<String> =
            names.map(|file| format!("{:?}", file.path.display().to_string())).collect();
        checkout.restore_content(&before)?;
        Ok(Some(format!(
            "it only reads, but it changed {} {}; the changes are undone: {}",
            changes.files.len(),
            if changes.files.len() == 1 { "file" } else { "files" },
            names.join(", ")
        )))
    }

    /// Refuses if the branch does not contain the last recorded commit.
    fn check_branch(&self, recorded: &RecordedWork) -> Result<(), GitError> {
        let Some((_, commit)) = recorded.commit() else { return Ok(()) };
        let tip = self.project.tip(&self.branch)?;
        if tip.map(|tip| self.project.contains(&tip, commit)).transpose()? == Some(true) {
            return Ok(());
        }
        let (commit, branch) = (commit.as_str().to_owned(), self.branch.to_string());
        Err(GitError::MissingWork { commit, branch })
    }

    /// Compares the workspace with the journal. A run in place is not compared: the person
    /// works there too.
    pub fn difference(&self) -> Result<Option<WorkDifference>, GitError> {
        let recorded = self.lock_recorded().clone();
        let (Some(_), Some((step, _))) = (&self.worktree, recorded.commit()) else {
            return Ok(None);
        };
        let checkout = self.checkout()?;
        checkout.remove_dead_locks(&self.branch)?;
        let tree = checkout.tree()?;
        let tip = self.project.tip(&self.branch)?;
        let found = |step: &StepKey, what: String| WorkDifference {
            step: step.clone(),
            what,
            commit: tip.as_ref().map(|tip| tip.as_str().to_owned()),
            tree: tree.as_str().to_owned(),
        };
        match self.check_branch(&recorded) {
            Err(GitError::MissingWork { commit, branch }) => {
                let commit = commit.get(..12).unwrap_or(&commit);
                let what = format!("commit {commit} is not in the branch {branch}");
                return Ok(Some(found(step, what)));
            }
            checked => checked?,
        }
        Ok(match recorded.tree() {
            Some((step, before)) if !recorded.is_interrupted() && *before != tree => {
                let files = self.project.changes(before, &tree);
                let files = files.map(|changes| changes.files.len()).unwrap_or_default();
                let what = format!("{files} files of the workspace differ from what it left");
                Some(found(step, what))
            }
            _ => None,
        })
    }

    /// Compares the workspace with what it was before the step in progress.
    pub fn workspace_state(&self) -> Result<WorkspaceState, GitError> {
        let before = self.lock_recorded().before_step();
        let checkout = self.checkout()?;
        let before = match (before, &self.worktree) {
            (ContentBefore::Tree(tree), _) => tree,
            (ContentBefore::Branch, Some(_)) => checkout.branch_content(&self.branch)?,
            (ContentBefore::Branch, None) | (ContentBefore::Unknown, _) => {
                return Ok(WorkspaceState::NotCompared);
            }
        };
        checkout.remove_dead_locks(&self.branch)?;
        Ok(match checkout.tree()? == before {
            true => WorkspaceState::AsBefore { tree: before.as_str().to_owned() },
            false => WorkspaceState::MayHaveChanged,
        })
    }

    /// Takes note of a record that was added to the journal.
    pub fn recorded(&self, record: &Record) {
        self.lock_recorded().apply(record);
    }

    /// Names the uncommitted files of the workspace that a merge would not contain.
    pub fn uncommitted(&self) -> Result<Vec<PathBuf>, GitError> {
        if !self.worktree.as_deref().is_some_and(Path::exists) {
            return Ok(Vec::new());
        }
        let checkout = match self.checkout() {
            Err(GitError::NoWorktree { .. }) => return Ok(Vec::new()),
            checkout => checkout?,
        };
        let committed = checkout.branch_content(&self.branch)?;
        let changes = checkout.changes(&committed, &checkout.tree()?)?;
        Ok(changes.files.into_iter().map(|file| file.path).collect())
    }

    /// The files of the worktree that are not in the run's branch, such as ignored ones; none
    /// in place, where there is no such branch.
    pub fn absent_files(&self) -> AbsentFiles {
        let is_there = self.worktree.as_deref().is_some_and(Path::exists);
        let checkout = is_there.then(|| self.checkout().ok()).flatten();
        checkout.and_then(|checkout| checkout.absent_files().ok()).unwrap_or_default()
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

    fn lock_recorded(&self) -> std::sync::MutexGuard<'_, RecordedWork> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Quotes a path for the shell.
fn quote(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// Whether other agents of the run are working.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherAgents {
    /// None is.
    None,
    /// At least one is.
    Some,
}
